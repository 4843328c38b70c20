"""Find the repository that a directory is in, from its files. Git is not started.

A hook uses this module while an agent waits, so the module imports almost nothing.
"""

import os

from session_memory.core.remotes import remote_name

LONGEST_CONFIG = 1 << 18


def light_names(directory: str) -> list[str]:
    """Return the likely names of the repository that ``directory`` is in.

    First the name in the URL of its remote, then the name of the directory of its main checkout.
    The result is empty outside of a repository.
    """
    root = root_of(directory)
    if root is None:
        return []
    main = main_checkout(root)
    names = (remote_of(main), os.path.basename(main))
    return [name for name in dict.fromkeys(names) if name]


def root_of(directory: str) -> str | None:
    """Return the root of the checkout that a directory is in; None if it is in none."""
    if not os.path.isabs(directory):
        return None
    while not os.path.exists(os.path.join(directory, ".git")):
        above = os.path.dirname(directory)
        if above == directory:
            return None
        directory = above
    return directory


def main_checkout(root: str) -> str:
    """Return the main checkout of the worktree at ``root``; ``root`` itself if it is no worktree.

    The ``.git`` of a worktree is a file that names a directory in the main checkout.
    """
    link = os.path.join(root, ".git")
    if os.path.isfile(link):
        named = _beginning(link).removeprefix("gitdir:").strip()
        before, found, _ = named.partition("/.git/worktrees/")
        if found:
            return before
    return root


def remote_of(main: str) -> str | None:
    """Return the repository name in the URL of the remote ``origin``, else of the only remote.

    None if there is no such remote.
    """
    urls: dict[str, str] = {}
    section = ""
    for line in _beginning(os.path.join(main, ".git", "config")).splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line
        key, found, value = line.partition("=")
        if found and key.strip() == "url" and section.startswith("[remote "):
            urls.setdefault(section, value.strip())
    origin = urls.get('[remote "origin"]')
    return remote_name(origin or (next(iter(urls.values())) if len(urls) == 1 else None))


def _beginning(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(LONGEST_CONFIG).decode("utf-8", "replace")
    except OSError:
        return ""
