"""The names of the repository that a directory is in, by files alone."""

import os

from session_memory.core.remotes import remote_name

LONGEST_CONFIG = 1 << 18


def light_names(directory: str) -> list[str]:
    """What sessions in the repository of ``directory`` mostly call it."""
    root = _root(directory)
    if root is None:
        return []
    main = _main_checkout(root)
    names = (remote_name(_origin(os.path.join(main, ".git", "config"))), os.path.basename(main))
    return [name for name in dict.fromkeys(names) if name]


def _root(directory: str) -> str | None:
    if not os.path.isabs(directory):
        return None
    while not os.path.exists(os.path.join(directory, ".git")):
        above = os.path.dirname(directory)
        if above == directory:
            return None
        directory = above
    return directory


def _main_checkout(root: str) -> str:
    """The main checkout of a worktree, whose ``.git`` is a file that names a directory there."""
    link = os.path.join(root, ".git")
    if os.path.isfile(link):
        named = _beginning(link).removeprefix("gitdir:").strip()
        before, found, _ = named.partition("/.git/worktrees/")
        if found:
            return before
    return root


def _origin(config: str) -> str | None:
    """The URL of the remote ``origin``, or of the only remote."""
    urls: dict[str, str] = {}
    section = ""
    for line in _beginning(config).splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line
        key, found, value = line.partition("=")
        if found and key.strip() == "url" and section.startswith("[remote "):
            urls.setdefault(section, value.strip())
    origin = urls.get('[remote "origin"]')
    return origin or (next(iter(urls.values())) if len(urls) == 1 else None)


def _beginning(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(LONGEST_CONFIG).decode("utf-8", "replace")
    except OSError:
        return ""
