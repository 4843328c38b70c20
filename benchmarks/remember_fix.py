"""fix@error: at each error that its session resolved later, what did earlier sessions know?

Asked is what an agent has at that moment: the output of the failed call and the command. Memory
answers with resolutions, in the order of the tool ``fix``. An answer is useful if it names what
resolved the error this time, by the rules of `remember_rules`.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter

import msgspec
from remember_replay import Past, PastSession, Replay
from remember_rules import CHANGES, FIRST, chance, first_useful, marks_of
from remember_tables import Cell, Row, Table, middle, share

from session_memory.learn.digest import ErrorSnippet, Resolution
from session_memory.mcp.answers import fix
from session_memory.mcp.asking import Question
from session_memory.mcp.catalog import checked_arguments
from session_memory.views.current_repository import CurrentRepository

# Errors of the agent's own tools, bare exit codes and headers: they say nothing about the project.
_OWN = re.compile(
    r"""(?i)Exit\ code\ \d+|File\ (?:has\ |does\ not|content)|String\ to\ replace\ not
      |<tool_use_error|Error:\ Exit|No\ such\ tool|The\ user\ doesn't|Request\ interrupted
      |Cancelled|EISDIR|InputValidation|Found\ \d+\ matches|No\ changes\ to\ make|Sibling\ tool
      |Path\ does\ not|Unknown\ skill|\w+\ ended\ with\ status|FAIL$|\?\ .*no\ test\ files
      |\#\ \S+$""",
    re.VERBOSE,
)


class AskedError(msgspec.Struct, frozen=True, kw_only=True):
    """An error at its moment. ``offered`` is what memory gave, best first; ``pool`` is every
    earlier resolution in the repository, the newest first."""

    session: PastSession
    error: ErrorSnippet
    asked: str
    offered: list[Resolution | None]
    is_same: bool
    pool: list[Resolution]
    tokens: int
    ms: float

    @property
    def is_counted(self) -> bool:
        """Whether a change resolved it: reading a file or trying again is no knowledge."""
        how = self.error.resolution
        return how is not None and how.kind in CHANGES

    def is_useful(self, first: int) -> bool:
        place = first_useful(self.error.resolution, self.offered[:first])
        return place is not None

    def by_chance(self, first: int) -> float:
        wanted = marks_of(self.error.resolution)
        useful = sum(bool(wanted & marks_of(one)) for one in self.pool)
        return chance(useful, len(self.pool), first)

    def by_newest(self, first: int) -> bool:
        return first_useful(self.error.resolution, self.pool[:first]) is not None


def errors_asked(past: Past, replay: Replay, one: PastSession, now: int) -> Iterator[AskedError]:
    """Every error of the session, asked before the session began."""
    pool = [
        error.resolution
        for known in replay.known_of(one.repo)
        for error in known.digest.error_snippets
        if error.resolution and error.resolution.kind in CHANGES
    ]
    for error in one.digest.error_snippets:
        asked = past.output(one.uid, error)
        given = {"error": asked, "command": error.call, "repo": one.repo or "*"}
        arguments = checked_arguments("fix", given)
        begun = perf_counter()
        question = Question(replay.memory, CurrentRepository(Path("/")), arguments, now)
        known = fix.known_fixes(question, arguments)
        fix.write_known(question, known)
        ms = (perf_counter() - begun) * 1000
        yield AskedError(
            session=one,
            error=error,
            asked=asked,
            offered=[each.resolution for each in known.offered],
            is_same=known.same > 0,
            pool=pool,
            tokens=len(str(question.answer)) // 4,
            ms=ms,
        )


def table(asked: Sequence[AskedError]) -> Table:
    resolved = [one for one in asked if one.is_counted]
    answered = [one for one in resolved if one.offered]
    project = [one for one in resolved if not _OWN.match(one.error.sample.strip())]
    rows = [
        _row("all errors that a change resolved later", resolved),
        _row("  the same error was resolved before", [one for one in answered if one.is_same]),
        _row("  only similar ones were", [one for one in answered if not one.is_same]),
        _row("  the first time that an error came back", _first_times(answered)),
        _row("without errors of the agent's own tools", project),
    ]
    for repo in sorted({one.session.repo or "" for one in resolved}):
        rows.append(_row(f"  {repo}", [one for one in resolved if one.session.repo == repo]))
    return Table("A. fix@error: useful of the answered", rows, [*_misses(answered)])


def _first_times(answered: Sequence[AskedError]) -> list[AskedError]:
    """One for each error: a frequent one would outweigh all others."""
    found: dict[tuple[str | None, str], AskedError] = {}
    for one in answered:
        found.setdefault((one.session.repo, one.error.fingerprint), one)
    return list(found.values())


def _row(name: str, asked: Sequence[AskedError]) -> Row:
    answered = [one for one in asked if one.offered]
    cells: dict[str, Cell] = {"asked": len(asked), "answered": len(answered)}
    measures: dict[str, Callable[[AskedError, int], float]] = {
        "@": AskedError.is_useful,
        "chance@": AskedError.by_chance,
        "newest@": AskedError.by_newest,
    }
    for label, useful in measures.items():
        for first in FIRST:
            cells[f"{label}{first}"] = share([useful(one, first) for one in answered])
    # What an ideal order of the same answers would reach, and of all earlier resolutions.
    cells["any"] = share([one.is_useful(len(one.offered)) for one in answered])
    cells["most"] = share([one.by_chance(len(one.pool)) for one in answered])
    cells["all@3"] = share([one.is_useful(3) for one in asked])
    cells["tokens"] = middle([one.tokens for one in answered])
    cells["ms"] = middle([one.ms for one in answered])
    return Row(name, cells)


def _misses(answered: Sequence[AskedError]) -> Iterator[str]:
    for one in answered:
        how = one.error.resolution
        if how is None or one.is_useful(3):
            continue
        fitting = sum(bool(marks_of(how) & marks_of(each)) for each in one.pool)
        basis = "same" if one.is_same else "similar"
        yield f"{one.session.uid} {one.session.repo} {one.error.sample[:150]!r}"
        yield f"    {one.error.call[:150]!r}"
        yield f"    {basis}; {fitting} of {len(one.pool)} earlier resolutions fit"
        yield f"    true {how.kind} {how.text[:160]!r}"
        for each in one.offered[:5]:
            yield f"    got  {each.kind} {each.text[:160]!r}" if each else "    got  nothing"
