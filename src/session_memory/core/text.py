"""Text helpers: shorten texts, escape what a database cannot store or a reader cannot see."""

import re
import reprlib

SUMMARY = 80
LONGEST_MESSAGE = 300
# Control characters (ANSI escapes start with one), invisible format characters, overrides of the
# writing direction, "tags", lone surrogates. Joiners are not listed: scripts and emoji need them.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)


def one_line(text: str, length: int = SUMMARY) -> str:
    """The start of ``text`` on one line, with runs of white space as one blank."""
    line = text[: length + 1]
    if not line.isprintable() or "  " in line:
        line = " ".join(text[: length * 2].split())
    return line if len(line) <= length else line[: length - 1] + "…"


def escaped(text: str) -> str:
    """``text`` with NUL and lone surrogates, which PostgreSQL refuses, as visible escapes."""
    if text.isascii() and "\0" not in text:
        return text
    text = text.replace("\0", "\\u0000")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def visible(text: str) -> str:
    """``text`` with every invisible character as a visible escape."""
    return _UNSEEN.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


def short_repr(value: object) -> str:
    """``value`` for an error message: short, on one line, control characters escaped."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # Python does not print integers of thousands of digits.
        return f"a very large {type(value).__name__}"


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80


def exception_text(error: BaseException) -> str:
    """The type and the message of an exception from another package: short, and on one line."""
    try:
        message = escaped(" ".join(str(error).split()))[:LONGEST_MESSAGE]
    except (Exception, SystemExit):
        message = "its message cannot be read"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def between(text: str, opening: str, closing: str) -> str | None:
    """Return the text between the first ``opening`` and the next ``closing``, stripped, or None.

    A regular expression could take quadratic time on hostile input.
    """
    start = text.find(opening)
    end = text.find(closing, start + len(opening)) if start >= 0 else -1
    return text[start + len(opening) : end].strip() if end >= 0 else None


_PLACE = re.compile(r"""\A\s*cd\s+(?:"[^"\n]*"|'[^'\n]*'|\S+)\s*(?:&&|;|\n)\s*""")


def without_place(command: str) -> str:
    """Return a shell command without a ``cd DIR &&`` (or ``;``, or a newline) at its beginning."""
    return _PLACE.sub("", command)


# A text that is one absolute path to a file. A command with arguments does not match.
_LONE_PATH = re.compile(
    r"(?!/(?:bin|sbin|usr|opt)/)(?:~|/[\w.@+~-])(?:(?! [-/~.])[^\"'`,;&|<>$\n])*\.\w{1,8}"
)


def below_repo(text: str, repo: str | None, *, whole_root: bool = False) -> str:
    """Make the paths of files in the repository ``repo`` relative to its directory.

    The path of the directory itself is replaced by ``repo``; with ``whole_root`` it stays. URLs
    are not changed.
    """
    if not repo or repo not in text:
        return text
    name = re.escape(repo)
    # A path with blanks in it: in quotes, or alone.
    text = re.sub(rf"(?<=[\"'`])[~/][^\"'`\n]* [^\"'`\n]*/{name}/", "", text)
    if " " in text and all(map(_LONE_PATH.fullmatch, paths := text.split(", "))):
        return ", ".join(path.rpartition(f"/{repo}/")[2] or path for path in paths)
    text = re.sub(rf"[^\s,`'\"“]*/{name}/", lambda path: path[0] if "://" in path[0] else "", text)
    if whole_root:
        return text
    directory = rf"(?<![^\s'\"`=(])[~/][^\s,`'\"“:]*/{name}(?=[\s;&|)'\"`,]|$)"
    return re.sub(directory, lambda _: repo, text)
