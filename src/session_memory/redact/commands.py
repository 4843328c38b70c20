"""Find passwords that are arguments of a command: ``docker login -p …``, ``curl -u me:…``.

The same flag means something else for other commands (``mkdir -p``, ``ssh -p``), so the command
before the flag decides. It must be on the same line, at most `_REACH` characters before the flag.
Only ``-u name:password`` needs no known command.
"""

import re
from collections.abc import Iterator

from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.redact.assignments import AssignedSecret, is_password
from session_memory.redact.plausibility import is_placeholder

# Searched for in the lower-case text.
FLAGS = (" -p", " -u", "-user", " -a ", " -w ")
KIND = "command-line-password"

_REACH = 200
_LONGEST_COMMAND = 24
# Each group names the flag after which its commands take a password. ``other`` commands take none.
_COMMAND = lazy_pattern(
    r"(?:(?<![\w.-])|(?<=\\[nrt]))(?:(?P<p_tight>(?:mysql|mariadb)[\w-]{0,12}|7z[arz]?|unrar|rar)"
    r"|(?P<p_any>sshpass)"
    r"|(?P<p>login|mongo(?:sh|dump|restore|export|import|stat|top|files)?|cqlsh|snowsql|twine"
    r"|rdesktop|az[ \t](?:sql|postgres|mysql|vm|vmss|ad)(?=[ \t]))"
    r"|(?P<P>zip|unzip|sqlcmd|bcp|ipmitool|tsql)|(?P<a>redis-cli|http|https|xh)"
    r"|(?P<w>ldap[a-z]{1,12})|(?P<curl>curl)|(?P<smb>smbclient|rpcclient)"
    r"|(?P<other>docker|podman|nerdctl|kubectl|rsync|chown|git|install|ps|sudo|su"
    r"|systemctl|journalctl|sort|date|id))(?=[\s.])",
    re.ASCII,
)
_ENDS = lazy_pattern(r"[\r\n|;&]|\\{1,7}[rn]")
_QUOTE = r"\\{0,7}[\"']?"
_VALUE = r"([^\s\"'\\-][^\s\"'\\]{3,127}+)"
_ATTACHED = lazy_pattern(rf"{_QUOTE}{_VALUE}", re.ASCII)
_APART = lazy_pattern(rf"(?:[ \t]{{1,2}}|=){_QUOTE}{_VALUE}", re.ASCII)
_USER = r"[\w.@+-]{1,64}"
_AFTER_USER = lazy_pattern(rf"(?:[ \t]{{1,2}}|=){_QUOTE}{_USER}:([^\s\"'\\@]{{4,128}}+)", re.ASCII)
_USER_ATTACHED = lazy_pattern(rf"{_QUOTE}{_USER}:([^\s\"'\\@/]{{4,128}}+)", re.ASCII)
_AFTER_PERCENT = lazy_pattern(rf"[ \t]{{1,2}}{_QUOTE}[\w.\\/@+-]{{1,64}}%([^\s\"'\\]{{4,128}}+)")
_WORDS = frozenset({"password", "passwd", "passwort", "pass", "pwd", "secret", "token"})


def command_secrets(text: str, places: list[int], flag: str) -> Iterator[AssignedSecret]:
    """The passwords after ``flag`` at one of ``places``, in order."""
    done = searched = 0
    command, command_end = "", -_REACH
    size, needs_command = len(flag.rstrip()), flag not in (" -u", "-user")
    for place in places:
        # Another flag is no password.
        if place < done or text.startswith((" -", "-"), place + size):
            continue
        # Every part of the text is searched for commands only once.
        first = max(searched - _LONGEST_COMMAND, place - _REACH, 0)
        for match in _COMMAND.finditer(text, first, place + 1):
            command, command_end = match.lastgroup or "", match.end()
        searched = place
        is_near = place - command_end <= _REACH
        known = command if is_near and not _ENDS.search(text, command_end, place) else ""
        if needs_command and not known:
            continue
        for use, value in _values(text, place, flag):
            if _takes(known, use) and _is_secret(value[1]):
                done = value.end()
                yield AssignedSecret(KIND, *value.span(1))
                break


def _values(text: str, place: int, flag: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Yield the values after a flag that may be passwords, each with the use of the flag.

    For example, ``p_tight`` is the use of ``-p`` with the value directly after it. `_takes` says
    which command has which use.
    """
    sign, end = text[place + len(flag.rstrip()) - 1], place + len(flag.rstrip())
    uses: tuple[tuple[str, re.Pattern[str]], ...]
    if flag == " -p":
        uses = (("p_tight", _ATTACHED), ("p", _APART)) if sign == "p" else (("P", _APART),)
    elif flag == "-user":
        is_option = text[max(place - 7, 0) : place].endswith(("-", "--proxy"))
        uses = (("u", _AFTER_USER),) if is_option else ()
    elif flag == " -u":
        uses = (("u", _AFTER_USER), ("curl", _USER_ATTACHED), ("smb", _AFTER_PERCENT))
    else:
        uses = ((sign, _AFTER_USER), (sign, _APART)) if sign in "aw" else ()
    for name, pattern in uses:
        match = pattern.match(text, end)
        if match is not None:
            yield name, match


def _takes(command: str, use: str) -> bool:
    """Whether ``command`` takes a password with this ``use`` of the flag."""
    if use == "u":
        return command != "other"
    if command == "p_any":
        return use in ("p", "p_tight")
    return command == use


def _is_secret(value: str) -> bool:
    if value.lower() in _WORDS or value.isdigit() or is_placeholder(value):
        return False
    return is_password(value, literal=True)
