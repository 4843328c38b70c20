"""Split a shell text into its simple commands.

The splitter knows quotes, heredocs and substitutions well enough that it never takes text in a
string or a heredoc for a command. It reads every character once.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache

from session_memory.core.lazy_patterns import lazy_pattern

EXAMINED = 16_384
"""How many characters of a shell text are read. The rest is nearly always data."""


@dataclass(slots=True)
class SimpleCommand:
    """One command of a shell text: its words without quotes, the files that redirections read and
    write, and the text of its heredoc."""

    words: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    heredoc: str | None = None


@dataclass(slots=True)
class _Frame:
    """The state of the splitter in the whole text or inside of one ``$(…)``.

    ``word`` is the present word, or None between words. ``target`` is the list that gets the next
    word, after a redirection.
    """

    command: SimpleCommand = field(default_factory=SimpleCommand)
    word: str | None = None
    target: list[str] | None = None
    parentheses: int = 0
    in_quotes: bool = False


_COMMAND = lazy_pattern(
    r"""
      (?P<blank>(?:[ \t\r\f\v]|\\\r?\n)+)
    | (?P<single>'[^']*'?)
    | (?P<double>\$?")
    | (?P<ansi>\$'(?:[^'\\]|\\(?s:.))*'?)
    | (?P<substitution>\$\()
    | (?P<heredoc><<-?[ \t]*(?P<tag>'[^'\n]*'|"[^"\n]*"|\\?[A-Za-z_][\w.-]*))
    | (?P<duplicate>\d*[<>]&[\d-]*)
    | (?P<read>\d*<(?:<<?|>)?)
    | (?P<write>(?:\d*|&)>>?\|?)
    | (?P<end>&&?|\|[|&]?|;+|[\n()`])
    | (?P<escape>\\(?s:.)?)
    | (?P<plain>\$\{[^}\n]*\}?|\$|[^\s'"\\$;&|()<>`]+|\s)
    """,
    re.VERBOSE,
)
# A row of plain words, each with a blank after it. None of them begins a comment.
_WORDS = lazy_pattern(r"""(?:[^\s'"\\$;&|()<>`#][^\s'"\\$;&|()<>`]*[ \t]+)+""")
_QUOTED = lazy_pattern(
    r"""(?P<text>[^"\\$]+|\$(?!\())|(?P<escape>\\(?s:.)?)|(?P<open>\$\()|(?P<close>")"""
)


def simple_commands(text: str) -> list[SimpleCommand]:
    """Return the simple commands of a shell text. Those in a ``$(…)`` come before the command
    around it.

    The caller must not change them: they are cached, and other callers get the same objects.
    """
    return [*_split(text[:EXAMINED])]


@lru_cache(maxsize=256)
def _split(text: str) -> tuple[SimpleCommand, ...]:
    """Split a text. The result is cached because several detectors split the same text in turn."""
    return tuple(_Splitter(text).run())


class _Splitter:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.found: list[SimpleCommand] = []
        self.frame = _Frame()
        self.outer: list[_Frame] = []
        self.heredocs: list[tuple[str, SimpleCommand]] = []

    def run(self) -> list[SimpleCommand]:
        while self.position < len(self.text):
            if self.frame.in_quotes:
                self._quoted()
            else:
                self._unquoted()
        self._end_command()
        while self.outer:
            self._close_substitution()
            self._end_command()
        return self.found

    def _unquoted(self) -> None:
        if self.frame.word is None and (words := _WORDS.match(self.text, self.position)):
            self.position = words.end()
            self._add_words(words.group().split())
            return
        token = _COMMAND.match(self.text, self.position)
        assert token is not None
        value = token.group()
        self.position = token.end()
        match token.lastgroup:
            case "plain":
                self._plain(value)
            case "blank":
                self._end_word()
            case "single" | "ansi":
                self._add(value.strip("$'"))
            case "double":
                self._add("")
                self.frame.in_quotes = True
            case "escape":
                # PowerShell and Windows paths keep their backslashes.
                self._add(value if value[1:].isalnum() else value[1:])
            case "substitution":
                self._open_substitution()
            case "heredoc":
                self._end_word()
                self.heredocs.append((token["tag"].strip("'\"\\"), self.frame.command))
            case "write":
                self._end_word()
                self.frame.target = self.frame.command.writes
            case "read":
                self._end_word()
                self.frame.target = self.frame.command.reads
            case "duplicate":
                self._end_word()
            case _:
                self._separator(value)

    def _quoted(self) -> None:
        token = _QUOTED.match(self.text, self.position)
        assert token is not None
        self.position = token.end()
        match token.lastgroup:
            case "text":
                self._add(token.group())
            case "escape":
                self._add(token.group().removeprefix("\\"))
            case "open":
                self._open_substitution()
            case _:
                self.frame.in_quotes = False

    def _plain(self, value: str) -> None:
        if self.frame.word is None and value.startswith("#"):
            line_end = self.text.find("\n", self.position)
            self.position = line_end if line_end >= 0 else len(self.text)
        else:
            self._add(value)

    def _add(self, value: str) -> None:
        self.frame.word = (self.frame.word or "") + value

    def _add_words(self, words: list[str]) -> None:
        frame = self.frame
        if frame.target is not None:
            frame.target.append(words.pop(0))
            frame.target = None
        frame.command.words += words

    def _end_word(self) -> None:
        frame = self.frame
        if frame.word is not None:
            (frame.command.words if frame.target is None else frame.target).append(frame.word)
            frame.word = None
            frame.target = None

    def _end_command(self) -> None:
        self._end_word()
        frame = self.frame
        frame.target = None
        if frame.command.words or frame.command.writes:
            self.found.append(frame.command)
            frame.command = SimpleCommand()

    def _separator(self, value: str) -> None:
        frame = self.frame
        if value == ")" and self.outer and not frame.parentheses:
            self._end_command()
            self._close_substitution()
            return
        self._end_command()
        if value == "(":
            frame.parentheses += 1
        elif value == ")":
            frame.parentheses = max(0, frame.parentheses - 1)
        elif value == "\n":
            self._skip_heredocs()

    def _open_substitution(self) -> None:
        self.outer.append(self.frame)
        self.frame = _Frame()

    def _close_substitution(self) -> None:
        self.frame = self.outer.pop()
        self._add("$()")

    def _skip_heredocs(self) -> None:
        for tag, command in self.heredocs:
            start = self.position
            command.heredoc = self.text[start : self._after_heredoc(tag)]
        self.heredocs.clear()

    def _after_heredoc(self, tag: str) -> int:
        """Move after the heredoc that ``tag`` ends, or to the end of the text. Return the offset at
        which the heredoc's text ends."""
        while self.position < len(self.text):
            start = self.position
            line_end = self.text.find("\n", start)
            self.position = line_end + 1 if line_end >= 0 else len(self.text)
            line = self.text[start : self.position].strip()
            if line == tag:
                return start
            if line.startswith(f"{tag})"):
                self.position = self.text.index(tag, start) + len(tag)
                return start
        return self.position
