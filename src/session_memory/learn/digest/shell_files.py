"""Say which directory and which files a shell text names."""

import re
from functools import lru_cache

from session_memory.derive.detecting import simple_commands
from session_memory.learn.digest.carried_commands import carried_commands, remote_text

_SEPARATORS = re.compile(r"[/\\=:,;*'\"]+")


@lru_cache(maxsize=2_000)
def place_of(text: str) -> str:
    """Return the directory to which a shell text changes; "" if it names none or several."""
    found = [
        one.words[1] for one in simple_commands(text) if one.words[:1] == ["cd"] and one.words[1:]
    ]
    return found[0] if len(found) == 1 else ""


def is_elsewhere(one: str, other: str) -> bool:
    """Whether two directories are different, and neither is inside the other."""
    first, second = (one.rstrip("/\\"), other.rstrip("/\\"))
    if not first or not second or first[0] in "$~-." or second[0] in "$~-.":
        return False
    if first.startswith("/") != second.startswith("/"):
        return False
    return not f"{first}/".startswith(f"{second}/") and not f"{second}/".startswith(f"{first}/")


def file_names(text: str) -> frozenset[str]:
    """Return the names of the files in a shell text, without their directories."""
    return frozenset(
        name
        for command in simple_commands(text)
        for word in command.words[1:]
        if not word.startswith("-") and "." in (name := word.rstrip("/").rpartition("/")[2])
    )


def names_file(text: str, name: str) -> bool:
    """Whether the words of a shell text name a file. The text of a heredoc does not count."""
    return any(
        name in _SEPARATORS.split(word)
        for command in simple_commands(text)
        for words in carried_commands(command)
        for word in (*words, *command.reads, *command.writes)
        if "\n" not in word
    )


def written_files(text: str) -> frozenset[str]:
    """Return the names of the files that the redirections of a shell text write. Those of a text
    that ``ssh`` carries count, too."""
    if ">" not in text:
        return frozenset()
    commands = simple_commands(text)
    paths = [path for command in commands for path in command.writes if path[:5] != "/dev/"]
    far = (written_files(remote_text(command)) for command in commands)
    return frozenset(path.rpartition("/")[2] for path in paths).union(*far)
