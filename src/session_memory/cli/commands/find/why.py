"""Say which session, prompt and edit wrote a line of code.

PLACE is a file, a line or some lines of it (src/app.py:12, src/app.py:12-20), or a commit. The
edits in the logs are compared with the history in git, so the file must be in a checkout. If no
edit in the logs wrote a line, the answer names no session for it.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json, print_lines
from session_memory.cli.kit.settings import Settings
from session_memory.core.text import one_line
from session_memory.render.text import safe

if TYPE_CHECKING:
    from session_memory.store import Store
    from session_memory.views.why.answer import Why, WhyLine, WhySession, WhyWholeCommit

_PLACE = re.compile(r"(?P<path>.+?):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?")
MOST_LINES = 40
WIDE = 100


@make_command(
    examples=(
        ("why src/app.py:42", "the session, prompt and edit that wrote this line, and the cost"),
        ("why src/app.py:40-60", "the same for some lines"),
        ("why src/app.py", "which sessions wrote the file"),
        ("why HEAD", "which sessions wrote the last commit"),
    ),
    json_shape='{"path", "lines": [{"number", "text", "session_uid", "event_uid", "certainty",'
    ' "moved_from", "commit"}, …], "sessions": [{"session_uid", "title", "lines", "event_uid",'
    ' "seq", "at", "prompt", "prompt_seq", "said", "decided", "turn_cost", "cost"}, …], "commits":'
    ' [{"sha", "subject", "author", "at"}, …]}. Of a commit: {"commit", "made_in": [UID, …],'
    ' "files": [{"path", "added", "by_sessions"}, …], "sessions"}. "certainty" is "certain" or'
    ' "likely"; without a session it is null. "said" is what the agent said before the edit,'
    ' "decided" what a person decided after the prompt; "made_in" are the sessions that made the'
    " commit.",
)
@click.argument("place", metavar="PLACE")
@click.pass_obj
def command(settings: Settings, place: str) -> None:
    path, first, last = _parsed(place)
    with settings.memory() as memory:
        if not path.exists():
            commit = memory.why_commit(place)
            answer, lines = commit.to_dict(), _commit_lines(memory.store, commit)
        else:
            found = memory.why(path, first, last)
            answer, lines = found.to_dict(), _lines(memory.store, found, first is not None)
        if settings.as_json:
            print_json(answer)
        else:
            print_lines(map(safe, lines))


def _parsed(place: str) -> tuple[Path, int | None, int | None]:
    if not Path(place).exists() and (found := _PLACE.fullmatch(place)):
        first, last = int(found["first"]), int(found["last"]) if found["last"] else None
        if last is not None and last < first:
            raise click.UsageError(f"the lines end before they begin: {first}-{last}")
        return Path(found["path"]), first, last
    return Path(place), None, None


def _lines(store: "Store", found: "Why", is_part: bool) -> Iterator[str]:
    from session_memory.views.short_names import short_names

    names = short_names(store, [one.session_uid for one in found.sessions])
    if is_part:
        for line in found.lines[:MOST_LINES]:
            yield f"{line.number:>6}  {_who(line, names):<12}  {line.text}"
        if len(found.lines) > MOST_LINES:
            yield f"({len(found.lines) - MOST_LINES} more lines: --json)"
        yield ""
    alone = sum(line.session_uid is None for line in found.lines)
    yield from _sessions(found.sessions, names)
    if alone:
        count = "1 line was" if alone == 1 else f"{alone:,} lines were"
        yield f"{count} written by no session: a person wrote them, or the logs do not show it."
    if is_part:
        for commit in found.commits[:MOST_LINES]:
            yield f"commit {commit.sha[:7]}  {commit.at[:10]}  {commit.author}  {commit.subject}"


def _who(line: "WhyLine", names: dict[str, str]) -> str:
    if line.session_uid is None:
        return "-"
    doubt = "?" if line.certainty != "certain" else ""
    return f"{names[line.session_uid]}{doubt}"


def _sessions(sessions: list["WhySession"], names: dict[str, str]) -> Iterator[str]:
    from session_memory.pricing import shown as dollars
    from session_memory.views.figures import plural

    for one in sessions:
        name = names[one.session_uid]
        when = (one.at or "")[:16].replace("T", " ")
        yield f"{name}  {when}  {one.title}  ({plural(one.lines, 'line')})"
        if one.prompt:
            yield f"    asked    {one_line(one.prompt, WIDE)}"
        for text in one.decided:
            yield f"    decided  {one_line(text, WIDE)}"
        if one.said:
            yield f"    said     {one_line(one.said, WIDE)}"
        yield f"    cost     {dollars(one.turn_cost)} for this prompt, {dollars(one.cost)} in all"
        yield f"    edit     session-memory show {name} --around {one.seq}"
        yield ""


def _commit_lines(store: "Store", found: "WhyWholeCommit") -> Iterator[str]:
    from session_memory.views.figures import plural
    from session_memory.views.short_names import short_names

    commit = found.commit
    uids = [*(one.session_uid for one in found.sessions), *found.made_in]
    names = short_names(store, list(dict.fromkeys(uids)))
    yield f"commit {commit.sha[:7]}  {commit.at[:10]}  {commit.author}  {commit.subject}"
    if found.made_in:
        yield f"made in {', '.join(names[uid] for uid in found.made_in)}"
    yield ""
    yield from _sessions(found.sessions, names)
    for file in found.files[:MOST_LINES]:
        of = f"{file.by_sessions:,} of {plural(file.added, 'line')}"
        yield f"{of:>16} by sessions  {file.path}"
