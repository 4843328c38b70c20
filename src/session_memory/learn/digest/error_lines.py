"""Find the errors in the output of a command: each is the line a person would search for.

One output can show several errors: a compiler prints ten, a hook prints those of its linter. Every
error line has a grade (see `runner_lines`). Only lines of the best grade in the output are
returned, each error once, at most `MOST_ERRORS`.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from session_memory import redact
from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.core.text import escaped, one_line
from session_memory.learn.digest.likely_lines import likely_lines, may_be_of_check, may_tell
from session_memory.learn.digest.runner_lines import (
    DIAGNOSTIC,
    FORMS,
    HINT,
    MESSAGE,
    NOISE_LINE,
    STATUS_LINE,
    LineForm,
)

SAMPLE = 300
CHECKED = frozenset({"type", "lint", "format", "test"})
MOST_ERRORS = 12
_MOST_MESSAGES = 4
_NEAR_BEFORE, _NEAR_AFTER = 3, 8
_NEAR = 600
_EXAMINED = 16_384
_LONGEST_LINE = 2_000


class ErrorLine(NamedTuple):
    """An error in an output. ``near`` is the text around its line.

    ``tool`` is the program that found the error, ``code`` is the program's name for such errors
    (``TS2345``), and ``path`` is the file with the error. Each is "" if the output does not show
    it. ``about`` and ``grade`` are those of the line's form (see `LineForm`).
    """

    text: str
    near: str = ""
    tool: str = ""
    about: str = ""
    code: str = ""
    path: str = ""
    grade: int = HINT

    @property
    def is_of_check(self) -> bool:
        """Whether a known compiler, linter or test runner found the error."""
        return bool(self.tool) and self.about in CHECKED

    @property
    def whole(self) -> str:
        """The error with the text around it and the file that it names."""
        return f"{self.text} {self.near} {self.path}"

    @property
    def kind(self) -> tuple[str, str, str, str]:
        """A key for this kind of error: the same error code in the same file gives equal keys.

        Line numbers and names in the message do not matter. Without a code or a path, the text of
        the error is in the key.
        """
        if self.code and self.path and self.grade == DIAGNOSTIC:
            return self.tool, self.code, self.path.rpartition("/")[2], ""
        return self.tool, self.code, "", self.text


def error_lines(text: str, *, masked: bool = True, hints: bool = True) -> list[ErrorLine]:
    """Return the errors in an output: those of the best grade, or [] if no line shows an error.

    Without ``masked``, secrets stay in the lines, which must not be kept or shown then. Without
    ``hints`` (lines of the lowest grade) the search is faster, and most hints are not found.
    """
    # Masking takes long, and most texts have no line with an error.
    if not may_tell(_TAG.sub("", _examined(text)), hints=hints):
        return []
    return _errors(_without_tasks(cleaned_lines(text, masked=masked)), hints=hints)


def _of_shell(text: str, *, masked: bool) -> list[ErrorLine]:
    """Return the error of a shell that could not run a command, if nothing else was printed."""
    if "command not found" not in text or text.strip().count("\n") > 1:
        return []
    return [one for one in error_lines(text, masked=masked, hints=False) if one.tool == "shell"]


def hidden_errors(text: str, *, masked: bool = True) -> list[ErrorLine]:
    """Return the errors in the output of a command that ended with status 0 all the same.

    A pipe or a wrapper may hide the real exit status. If the last line says that the command
    failed, diagnostics and messages count, else only errors of known compilers, linters and tests.
    """
    if found := _of_shell(text, masked=masked):
        return found
    if ends_with_failure(text):
        found = error_lines(text, masked=masked, hints=False)
        if found and found[0].grade >= MESSAGE:
            return found
    elif may_be_of_check(_TAG.sub("", _examined(text))):
        found = error_lines(text, masked=masked, hints=False)
    else:
        return []
    return [one for one in found if one.grade == DIAGNOSTIC and one.is_of_check]


def _errors(lines: list[str], *, hints: bool = True) -> list[ErrorLine]:
    found = list(_matches(lines, hints=False))
    if hints and not any(form.grade > HINT for _, form, _ in found):
        # Most outputs with an error say more than a hint, and prose is full of hints.
        found = list(_matches(lines, hints=True))
    for grade, most in ((DIAGNOSTIC, MOST_ERRORS), (MESSAGE, _MOST_MESSAGES), (HINT, 1)):
        some = [one for one in found if one[1].grade == grade]
        if grade == MESSAGE:
            some = [one for one in some if not _only_announces(lines, one[0])] or some
        if some:
            some = _without_summary(some)
            made = {one.text: one for one in (_error(lines, *found_one) for found_one in some)}
            errors = [one for one in made.values() if one.text]
            # The last exception of a traceback is the one that ended the program.
            return errors[-most:] if grade == MESSAGE else errors[:most]
    return []


def _only_announces(lines: list[str], place: int) -> bool:
    """Whether a line only announces other output: "[ERROR] Would have written:", then "---"."""
    after = lines[place + 1 : place + 2]
    return lines[place].endswith(":") and bool(after) and NOISE_LINE.match(after[0]) is not None


def _without_summary(
    found: list[tuple[int, LineForm, re.Match[str]]],
) -> list[tuple[int, LineForm, re.Match[str]]]:
    """Remove the lines of pytest's summary if the errors themselves are shown, too."""
    some = [one for one in found if not (one[1].tool == "pytest" and "path" in one[2].groupdict())]
    return some if any(form.tool == "pytest" for _, form, _ in some) else found


def error_line(text: str, *, masked: bool = True) -> str:
    """Return the line of an output that says best what went wrong, at most `SAMPLE` characters.

    If no line says what went wrong, return the first line that is not noise. That may be a line
    such as "1 failed".
    """
    lines = cleaned_lines(text, masked=masked)
    return _telling_line(lines) or _status_line(lines)


def telling_line(text: str, *, masked: bool = True) -> str:
    """Return the line of an output that says best what went wrong; "" if no line may say it.

    Without an error line, it is the first line that is neither noise nor such as "1 failed", which
    only says that something failed.
    """
    return _telling_line(cleaned_lines(text, masked=masked))


def _telling_line(lines: list[str]) -> str:
    lines = _without_tasks(lines)
    if found := _errors(lines):
        return found[-1 if found[0].grade == MESSAGE else 0].text
    content = [place for place, line in enumerate(lines) if not _is_empty_talk(line)]
    # A path alone is the heading of what follows.
    content = [at for at in content if not _PATH_LINE.fullmatch(lines[at])] or content
    return _sample(lines, content[0]) if content else ""


def _status_line(lines: list[str]) -> str:
    status = [place for place, line in enumerate(lines) if not NOISE_LINE.match(line)]
    return _sample(lines, status[0]) if status else ""


def ends_with_failure(text: str) -> bool:
    """Whether the last line of an output says that the program failed."""
    tail = text[-_LONGEST_LINE:].rstrip()
    line = _MARGIN.sub("", tail.rpartition("\n")[2].strip(_BLANKS))
    return bool(STATUS_LINE.match(line) or _FAILURE.match(line))


def reason_line(*texts: str) -> str:
    """Return a line that says what went wrong, from the first text that has such a line.

    If none has one, return the first line of the first text that is not empty.
    """
    given = [cleaned_lines(text) for text in texts]
    found = next(filter(None, map(_telling_line, given)), "")
    first = [line for lines in given for line in lines[:1]]
    return found or (_sample(first, 0) if first else "")


def cleaned_lines(text: str, *, masked: bool = True) -> list[str]:
    """Return the lines of an output without colors, margins and empty lines.

    Unless ``masked`` is false, secrets are masked.
    """
    # Mask before the text is split and cut: a key spans lines, and half a secret is not recognized.
    text = _examined(text)
    text = without_startup(_TAG.sub("", redact.mask(text) if masked else text))
    stripped = (line.strip(_BLANKS) for line in text.replace("\r", "\n").split("\n"))
    lines = (
        _MARGIN.sub("", line).lstrip(_BLANKS) if line[0] in _MARGIN_STARTS or "\t" in line else line
        for line in stripped
        if line
    )
    return [line[:_LONGEST_LINE] for line in lines if line]


def without_startup(text: str) -> str:
    """Remove the messages of files that a shell reads when it starts, such as ``~/.profile``.

    They stand before the output of every command, and have nothing to do with the command.
    """
    if not any(part in text for part in _STARTUP_PARTS):
        return text
    return _STARTUP.sub("", _ALIAS.sub("", text))


def cleaned_text(text: str) -> str:
    """Return an output on one line, so that an error can be searched in it."""
    return " ".join(escaped(" ".join(cleaned_lines(text))).split())


def _examined(text: str) -> str:
    """Return an output without colors; of a long one only the beginning and the end."""
    if len(text) > 2 * _EXAMINED:
        text = text[:_EXAMINED] + "\n" + text[-_EXAMINED:]
    return ANSI.sub("", text) if "\x1b" in text else text


def _matches(lines: list[str], hints: bool) -> Iterator[tuple[int, LineForm, re.Match[str]]]:
    lines = [_TASK.sub("", line) if line[0] == "[" else line for line in lines]
    if not (places := likely_lines(lines, hints=hints)):
        return
    for place in places:
        if (found := _form_of(lines[place])) is not None:
            yield place, *found


def _without_tasks(lines: list[str]) -> list[str]:
    """Remove the name of the task or container ("web-1  | …") if most lines begin with one."""
    some = lines[:_TASK_LINES]
    fewest = max(_FEWEST_TASK_LINES, (len(some) + 1) // 2)
    first = "\n".join(some)
    for part, start in _OF_TASKS:
        if first.count(part) < fewest:
            continue
        if sum(1 for line in some if part in line and start.match(line)) >= fewest:
            return [rest for line in lines if (rest := start.sub("", line).strip(_BLANKS))]
    return lines


@lru_cache(maxsize=2_048)
def _form_of(line: str) -> tuple[LineForm, re.Match[str]] | None:
    """Return the form of a line with its match; None for a line that is no error.

    Results are cached, because programs print the same lines again and again.
    """
    form = _first_form(line)
    if form is None or STATUS_LINE.match(line):
        return None
    if form.grade != DIAGNOSTIC and NOISE_LINE.match(line):
        return None
    match = form.pattern.match(line)
    return None if match is None else (form, match)


def _first_form(line: str) -> LineForm | None:
    found = _any_form().match(line)
    first = len(FORMS) if found is None else int((found.lastgroup or "_")[1:])
    for number, form in _SLOW_FORMS:
        if number > first:
            break
        if form.match(line):
            return form
    return FORMS[first] if first < len(FORMS) else None


def _error(lines: list[str], place: int, form: LineForm, match: re.Match[str]) -> ErrorLine:
    groups = match.groupdict()
    path = groups.get("path") or ""
    text = _sample(lines, place)
    after = lines[place + 1 : place + 1 + _NEAR_AFTER]
    before = lines[max(0, place - _NEAR_BEFORE) : place]
    if form.tool == "biome" and form.grade == MESSAGE:
        code = "format" if form.about == "format" else "assist/source/organizeImports"
        text = f"{code}: {groups['said']}"
    elif form.tool == "biome" and after:
        # "lint/style/useConst ━━━" is followed by "× This let declares a variable …".
        text = _joined(f"{groups['code']}", _BULLET.sub("", after[0]))
    elif form.tool == "rustfmt":
        # The next line is code, which is no part of the message.
        text = f"Diff in {path}"
    elif form.about == "test" and (why := _reason_of_test(form.tool, before, after)):
        # Mocha prints the suite, then the title of the test.
        title = f" {after[0].rstrip(':')}" if form.tool == "mocha" and after[0] != why else ""
        text = _joined(groups["said"] + title, why)
    elif form.tool == "playwright":
        # The details of a failed test begin with a rule, its line in the summary does not.
        text = text.rstrip("─ ")
    if not path:
        path = _path_near(before if form.tool == "eslint" else [], after)
    if not path and form.grade == MESSAGE:
        path = _frame_before(lines, place)
    near = one_line(escaped(" ".join([*before, lines[place], *after])), _NEAR)
    return ErrorLine(text, near, form.tool, form.about, groups.get("code") or "", path, form.grade)


def _joined(one: str, other: str) -> str:
    return one_line(escaped(f"{one}: {other}"), SAMPLE)


def _reason_of_test(tool: str, before: list[str], after: list[str]) -> str:
    """Return why a test failed: the message near its name; "" if there is none.

    Bun prints the message before the name of the test, other runners after it.
    """
    if tool == "pytest":
        return ""
    lines = list(reversed(before)) if tool == "bun" else after
    if tool == "go" and not (after and _GO_LINE.match(after[0])):
        # With -v, go prints the message before the result of the test.
        lines = [*(line for line in reversed(before) if _GO_LINE.match(line)), *after]
    for place, line in enumerate(lines):
        if found := _ASSERTION.match(line):
            # "Expected values to be equal:" and "expect(…).toBe(…)" are followed by the value and
            # the expected value.
            has_values = found[0].endswith(":") or found[0].startswith("expect(")
            rest = lines[place + 1 : place + 5] if has_values else []
            return " ".join([found[0], *(one for one in rest if _DIFFERENCE.match(one))])
    return ""


def _path_near(before: list[str], after: list[str]) -> str:
    for line in reversed(before):
        if found := _PATH_LINE.fullmatch(line):
            return found[0]
    for line in after[:3]:
        if found := _ARROW.match(line):
            return found[1]
    return ""


def _frame_before(lines: list[str], place: int) -> str:
    """Return the file of the project in which a Python exception was raised; "" if unknown.

    The last frame of a traceback is often in a library. The frame before it that is not has the
    call that was wrong.
    """
    for line in reversed(lines[max(0, place - _MOST_FRAMES) : place]):
        if line.startswith("Traceback"):
            break
        if (found := _FRAME.match(line)) and not _LIBRARY.search(found[1]):
            return found[1]
    return ""


def _is_empty_talk(line: str) -> bool:
    return bool(NOISE_LINE.match(line) or STATUS_LINE.match(line))


def _sample(lines: list[str], place: int) -> str:
    # After a line such as "failed due to the following issue:" or "ERROR in FILE" the next line
    # has the reason.
    some = lines[place : place + 1]
    if some and (some[0].endswith(":") or some[0].startswith("ERROR in ")):
        some = lines[place : place + 2]
    return one_line(escaped(_PREFIX.sub("", " ".join(some))), SAMPLE)


ANSI = lazy_pattern(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_STARTUP_PARTS = ("shellenv.sh", "profile", "/.bash", "/.z", "based on alias")
_STARTUP = lazy_pattern(
    r"(?m)^\S*/(?:shellenv\.sh|profile\.d/[\w.-]+|etc/profile|\.(?:bash_profile|bash_login|profile"
    r"|bashrc|zshrc|zshenv|zprofile|zlogin))(?:: line \d+|:\d+): .*(?:\n|\Z)"
)
# Zsh cannot define a function whose name is an alias, and says so in two lines.
_ALIAS = lazy_pattern(
    r"(?m)^(\S+:\d+): defining function based on alias .*\n\1: parse error near `\(\)'(?:\n|\Z)"
)
_BLANKS = " \t\u2009\u00a0\ufeff"
_TAG = lazy_pattern(r"</?(?:tool_use_error|error|stderr|stdout|output|system-reminder)>")
# What stands before a line: Terraform's bar; the job, step and time in a log of GitHub Actions.
_MARGIN = lazy_pattern(
    r"^(?:[│|] +)?(?:[^\t]{1,80}\t[^\t]{1,80}\t(?=\ufeff?\d{4}-))?\ufeff?"
    r"(?:\d{4}-\d\d-\d\dT[\d:.]+Z )?"
    r"(?:##\[error\])?"
)
# Without a tab, every margin starts with one of these.
_MARGIN_STARTS = "│|\ufeff0123456789#"
# The name of a task before a line, as mise prints it, or the name of a component in a log. The
# line "[warn] FILE" of Prettier has no such name.
_TASK = lazy_pattern(
    r"^(?:\[(?!ERROR|FATAL|(?:warn|error)\] \S+\.\w{1,8}$)[\w:./@ -]{1,40}\] ){1,3}(?=\S)"
)
# "[lint:go] …" of mise, "[0] …" of concurrently, "web:build: …" of turbo, "web-1  | …" of
# docker compose, "#12 3.45 …" of docker build, "packages/web test: …" of pnpm. Before each pattern
# is a text that it needs, which is found faster.
_OF_TASKS = tuple(
    (part, lazy_pattern(pattern))
    for part, pattern in (
        ("] ", r"^\[(?!ERROR|FATAL|warn|error)[\w:./@ -]{1,40}\] "),
        (": ", r"^[@\w./-]{1,60}:[a-z][\w-]*(?::[a-z][\w-]*){0,3}: (?!error|warning)"),
        (" | ", r"^[A-Za-z][\w.-]{1,40} +\| "),
        ("#", r"^#\d{1,4} (?:\d+\.\d+ )?"),
        ("/", r"^[\w@./-]{1,60}/[\w@./-]{1,60} [\w:-]{1,30}: "),
    )
)
_TASK_LINES, _FEWEST_TASK_LINES = 60, 3
_PREFIX = lazy_pattern(r"^(?:E {2,}|failed in sandbox(?: \w+)?(?: with execution error)?: )")
_BULLET = lazy_pattern(r"^[×!✖⚠✕i] +")
_ASSERTION = lazy_pattern(
    r"(?:error: |\S*(?:Error|Exception)\b|AssertionError|expect\(|Expected|expected|\S+\.go:\d+:"
    r"|assertion |Timeout|thread '|panicked).*"
)
_GO_LINE = lazy_pattern(r"\S+\.go:\d+: ")
_FAILURE = lazy_pattern(r"(?:\S+: )?(?:fatal|error|Error|ERROR)(?:\[\w+\])?: |npm (?:ERR!|error) ")
# "- 3" and "+ 4" of a difference, "'a' !== 'b'" of Node, "Expected: 3" and "Received: 4" of Jest.
_DIFFERENCE = lazy_pattern(
    r"[+-] (?!(?:actual|expected)\b)|\S.{0,80} [!=]==? \S.{0,80}$|(?:Expected|Received)[\w ]*: "
)
_FRAME = lazy_pattern(r'File "([^"<>]+\.\w+)", line \d')
_LIBRARY = lazy_pattern(r"site-packages|dist-packages|[/\\]lib[/\\]python\d|[/\\]Lib[/\\]")
_MOST_FRAMES = 80
_PATH_LINE = lazy_pattern(r"[^\s:]*[/\\.][^\s:]*\.\w{1,8}")
_ARROW = lazy_pattern(r"(?:-->|╭─\[|,-\[|on) ?([^\s:]+\.\w{1,8})\b")
_GROUP_NAME = lazy_pattern(r"\(\?P<\w+>")


_SLOW_FORMS = tuple((at, form) for at, form in enumerate(FORMS) if form.needs is not None)


@cache
def _any_form() -> re.Pattern[str]:
    """Return one pattern that matches every form without a quick check (``needs`` of `LineForm`).

    Forms with a quick check have slow patterns, and are tried one by one. Each form is a group of
    the pattern. The name of the group that matches contains the form's place in ``FORMS``.
    """
    # To compile this one pattern takes no longer than to compile each form.
    quick = [(at, form.pattern.pattern) for at, form in enumerate(FORMS) if form.needs is None]
    return re.compile(
        "|".join(f"(?P<_{at}>{_GROUP_NAME.sub('(?:', pattern)})" for at, pattern in quick)
    )
