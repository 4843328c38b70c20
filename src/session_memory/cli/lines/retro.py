"""A retrospective for a terminal: headings, tables and lists instead of Markdown."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.output import Cell, Column, table
from session_memory.cli.lines.folding import wrapped
from session_memory.cli.lines.session_table import OUTCOME_STYLES
from session_memory.core.text import below_repo
from session_memory.pricing import Amount, shown
from session_memory.render.text import safe
from session_memory.views.figures import count, plural
from session_memory.views.retro import (
    advised,
    cost_words,
    decision_command,
    figures,
    missing_skills,
    period_name,
    plain,
    shipped_words,
    skill_words,
)

if TYPE_CHECKING:
    from session_memory.learn.patterns import Pattern
    from session_memory.learn.retro import RepoRetro, Retro, RetroSession, Suggestion
    from session_memory.views.session_labels import SessionLabels

WORK = (
    Column("session"),
    Column("outcome", spare=2),
    Column("edits", right=True, spare=3),
    Column("commits", right=True, spare=4),
    Column("cost", right=True, spare=1),
    Column("title", flexible=True, least=30),
)


def retro_lines(retro: "Retro", columns: int, labels: "SessionLabels") -> Iterator[str]:
    yield _heading(f"Retrospective {period_name(retro)}")
    if retro.unread:
        yield f"{plural(retro.unread, 'session')} not analyzed yet: session-memory analyze"
    if not retro.repos:
        yield "No analyzed session ended in this time."
    for repo in retro.repos:
        yield from ("", _heading(repo.repo))
        yield from wrapped(safe(figures(repo)), columns)
        yield from _repo_lines(repo, columns, labels)
    if retro.skills:
        yield from _section("Skills")
        for skill in retro.skills:
            yield from _item("• ", safe(skill_words(skill, plain)), columns)
    if retro.evicted:
        yield from ("", missing_skills(retro.evicted))


def _repo_lines(repo: "RepoRetro", columns: int, labels: "SessionLabels") -> Iterator[str]:
    if repo.done:
        yield from _section(shipped_words(repo))
        yield from table(WORK, [_work(work, labels) for work in repo.done], columns)
    if repo.problems:
        yield from _section("What cost time and money")
        for number, (pattern, suggestion) in enumerate(
            zip(repo.problems, repo.suggestions, strict=True), start=1
        ):
            look = _shortened(suggestion.look, pattern, labels)
            yield from _problem(f"{number}. ", pattern, suggestion, repo.repo, look, columns)


def _work(work: "RetroSession", labels: "SessionLabels") -> tuple[str | Cell, ...]:
    what = work.shipped[-1] if work.shipped else labels.title(work.session_uid) or work.title
    return (
        Cell(labels.name(work.session_uid), {"fg": "cyan"}),
        Cell(work.outcome, OUTCOME_STYLES.get(work.outcome, {"dim": True})),
        count(work.edits),
        count(work.commits),
        shown(Amount(work.microdollars, work.unpriced_tokens)),
        plain(what),
    )


def _shortened(
    commands: Iterable[str], pattern: "Pattern", labels: "SessionLabels"
) -> Iterator[str]:
    """Yield the commands that show the evidence with the short names of the sessions."""
    known = set(pattern.session_uids)
    for line in commands:
        yield " ".join(labels.name(word) if word in known else word for word in line.split(" "))


def _problem(
    mark: str,
    pattern: "Pattern",
    suggestion: "Suggestion",
    repo: str,
    look: Iterable[str],
    columns: int,
) -> Iterator[str]:
    # Paths are shown without the directory of the repository, which the heading names.
    yield from _item(mark, safe(below_repo(plain(pattern.detail), repo)), columns)
    seen = f"{pattern.times} in {plural(pattern.sessions, 'session')}; {cost_words(pattern)}"
    yield from _item("   ", safe(seen), columns)
    yield from _item("   ", safe(below_repo(plain(advised(suggestion)), repo)), columns)
    for line in (*look, decision_command(suggestion) or pattern.id):
        yield click.style(f"   {safe(line)}", dim=True)


def _section(name: str) -> Iterable[str]:
    return ("", _heading(name))


def _heading(text: str) -> str:
    return click.style(safe(text), bold=True)


def _item(mark: str, text: str, columns: int, *, dim: bool = False) -> Iterator[str]:
    """Yield ``text``, wrapped, after a mark such as ``1. ``. The first line alone has the mark."""
    for place, line in enumerate(wrapped(text, columns - len(mark))):
        start = " " * len(mark) if place else mark
        yield start + (click.style(line, dim=True) if dim else line)
