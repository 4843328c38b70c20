"""Find the commands that a command runs in another place or shell.

Examples are ``ssh host "systemctl restart web"``, ``docker exec db psql -l`` and ``powershell -c
"git push"``. Two such calls do the same only if the commands that they carry do.
"""

from session_memory.derive.detecting import SimpleCommand, simple_commands

# Options of ssh, and of programs that run a command in a container, that have a value.
_SSH_OPTIONS = "-i -p -o -l -F -L -R -D -J -b -c -E -e -I -m -O -S -W -w -B"
_EXEC_OPTIONS = "-u --user -e --env -w --workdir --index -n --namespace -c"
_VALUED = {"ssh": frozenset(_SSH_OPTIONS.split()), "exec": frozenset(_EXEC_OPTIONS.split())}
_POWERSHELLS = frozenset({"powershell", "pwsh"})
_CONTAINERS = frozenset({"docker", "podman", "docker-compose", "kubectl", "nerdctl"})
_SHELLS = frozenset({"sh", "bash", "zsh", "ash"})
MOST_NESTED = 3


def carried_commands(command: SimpleCommand, deepest: int = MOST_NESTED) -> list[list[str]]:
    """Return the words of the commands that a command runs in another place or shell, with ``ssh``,
    ``docker exec`` or ``powershell``. Other commands return their own words.

    What is nested deeper than ``deepest`` calls of ``ssh`` is not looked at.
    """
    words = command.words
    if words and words[0].lower().removesuffix(".exe") in _POWERSHELLS:
        text = " ".join(_after_options(words[1:]))
        return [one.words for one in simple_commands(text) if one.words] or [words]
    if not words or not (words[0] == "ssh" or (words[0] in _CONTAINERS and "exec" in words[1:3])):
        return [words] if words else []
    kind = "ssh" if words[0] == "ssh" else "exec"
    rest = _carried_words(words, kind)
    if rest and rest[0] in _SHELLS and rest[1:2] and rest[1].startswith("-") and "c" in rest[1]:
        rest = rest[2:3]
    if not rest:
        return [words]
    if deepest and (len(rest) == 1 or kind == "ssh"):
        inner = simple_commands(" ".join(rest))
        return [found for one in inner for found in carried_commands(one, deepest - 1)] or [words]
    return [rest]


def remote_text(command: SimpleCommand) -> str:
    """Return the shell text that ``ssh`` runs on the other machine; "" if there is none."""
    return " ".join(_carried_words(command.words, "ssh")) if command.words[:1] == ["ssh"] else ""


def _after_options(words: list[str]) -> list[str]:
    """Return the command after the options of a PowerShell: ``-NoProfile -Command …``."""
    for place, word in enumerate(words):
        if not word.startswith("-"):
            return words[place:]
        if word.lower() in ("-command", "-c"):
            return words[place + 1 :]
    return []


def _carried_words(words: list[str], kind: str) -> list[str]:
    rest = words[1:] if kind == "ssh" else words[words.index("exec") + 1 :]
    while rest and rest[0].startswith("-") and rest[0] != "--":
        del rest[: 2 if rest[0] in _VALUED[kind] else 1]
    return rest[rest.index("--") + 1 :] if "--" in rest else rest[1:]
