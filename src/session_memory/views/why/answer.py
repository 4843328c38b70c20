"""The answer to ``why``: the lines of a file, or a commit, with the sessions that wrote them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from session_memory.core.errors import NoSuchLine
from session_memory.core.time import format_time
from session_memory.derive.bodies import Bodies
from session_memory.pricing import Amount, tree_amounts
from session_memory.pricing.amounts import UsageFilter, charges
from session_memory.store import Store
from session_memory.views.cost_tally import CostTally
from session_memory.views.current_repository import CurrentRepository
from session_memory.views.session_titles import best_titles
from session_memory.views.why.attribution import Attribution, LineSource
from session_memory.views.why.commits import sessions_that_made
from session_memory.views.why.git_history import BlamedLine, Commit, GitHistory
from session_memory.views.why.line_text import RareLines
from session_memory.views.why.logged_edits import LoggedEdits

LONGEST_PROMPT = 2000
MOST_BEFORE = 200
MOST_FILES = 100
# A line such as "return None" is everywhere. The lines around it help to tell who wrote it.
AROUND = 12
_NO_END = 1 << 31


class WhyCommit(msgspec.Struct, frozen=True):
    sha: str
    subject: str
    author: str
    at: str


class WhyLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line, and the edit that wrote it. ``event_uid`` is None if no session did: a person wrote
    it, or the logs do not show who."""

    number: int
    text: str
    session_uid: str | None = None
    event_uid: str | None = None
    certainty: str | None = None
    moved_from: str | None = None
    commit: str | None = None


class WhySession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that wrote lines. ``prompt`` is the last prompt before the edit, ``said`` the last
    words of the agent before it, ``decided`` what a person decided between prompt and edit.
    ``turn_cost`` is the cost of the turn with the edit, ``cost`` the cost of the whole session with
    its subagents."""

    session_uid: str
    title: str
    lines: int
    event_uid: str
    seq: int
    at: str | None
    prompt: str = ""
    prompt_seq: int | None = None
    said: str = ""
    decided: tuple[str, ...] = ()
    turn_cost: Amount
    cost: Amount


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of one file. ``commits`` are those that git names for the lines."""

    path: str
    lines: list[WhyLine]
    sessions: list[WhySession]
    commits: list[WhyCommit]

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values


class WhyFile(msgspec.Struct, frozen=True):
    """A file of a commit: how many lines the commit added, and how many of them a session wrote."""

    path: str
    added: int
    by_sessions: int


class WhyWholeCommit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit. ``made_in`` are the sessions whose logs show that they made it; ``sessions`` wrote
    its lines."""

    commit: WhyCommit
    made_in: list[str]
    files: list[WhyFile]
    sessions: list[WhySession]

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values


def why_lines(store: Store, place: Path, first: int | None = None, last: int | None = None) -> Why:
    """Find the sessions that wrote the lines ``first`` to ``last`` of a file, or all its lines."""
    repository = CurrentRepository(place.parent)
    history, path = _history(repository, place)
    texts = _texts(place)
    count = len(texts)
    if first is not None and not 0 < first <= count:
        raise NoSuchLine(f"{path} has {count} lines", f"Name one of them: {path}:1")
    wanted = range(first or 1, (last or first or count) + 1)
    around = 0 if _are_rare(texts, wanted) else AROUND
    begin = max(wanted.start - around, 1)
    end = None if first is None else min(wanted.stop - 1 + around, count)
    blame = history.blamed(path, begin, end)
    # The edits are read while git works in the background.
    attribution = Attribution(LoggedEdits(store, repository), history, path)
    attribution.replay(path)
    lines = blame.lines(wanted)
    attribution.follow(lines)
    sources = attribution.of(lines, wanted)
    asked = [
        (line, source) for line, source in zip(lines, sources, strict=True) if line.number in wanted
    ]
    return Why(
        path=path,
        lines=[_line(line, source, path) for line, source in asked],
        sessions=_sessions(store, [source for _, source in asked if source is not None]),
        commits=_commits(line.commit for line, _ in asked),
    )


def why_commit(store: Store, directory: Path, name: str) -> WhyWholeCommit:
    """Find the sessions that wrote the lines of a commit, and those that made it."""
    repository = CurrentRepository(directory)
    if repository.root is None:
        raise NoSuchLine(f"{directory} is in no git repository", "Go to a checkout and try again.")
    history = GitHistory(repository.root)
    commit = history.commit(name)
    if commit is None:
        raise NoSuchLine(
            f"{name} is no file here and no commit",
            "Name a file (src/app.py), a line of it (src/app.py:12) or a commit (HEAD).",
        )
    edits = LoggedEdits(store, repository)
    files, sources = [], []
    for path in history.files_of(commit)[:MOST_FILES]:
        added = history.added_in(commit, path) or []
        lines = [BlamedLine(n, text, commit, path, commit) for n, text in enumerate(added, 1)]
        found = [one for one in Attribution(edits, history, path).of(lines) if one is not None]
        files.append(WhyFile(path, len(lines), len(found)))
        sources += found
    return WhyWholeCommit(
        commit=_commits([commit])[0],
        made_in=sessions_that_made(store, commit.sha),
        files=files,
        sessions=_sessions(store, sources),
    )


def _texts(place: Path) -> list[str]:
    try:
        return [line.decode("utf-8", "replace") for line in place.read_bytes().splitlines()]
    except OSError as error:
        hint = "Name a file of a checkout, such as src/app.py."
        raise NoSuchLine(f"{place} cannot be read: {error.strerror}", hint) from error


def _are_rare(texts: list[str], wanted: range) -> bool:
    """Whether each wanted line can be recognized without the lines around it.

    Then git has to look only at these lines.
    """
    rare = RareLines(texts)
    return all(texts[number - 1] in rare for number in wanted if number <= len(texts))


def _history(repository: CurrentRepository, place: Path) -> tuple[GitHistory, str]:
    if repository.root is None:
        raise NoSuchLine(f"{place} is in no git repository", "Go to a checkout and try again.")
    return GitHistory(repository.root), str(place.relative_to(repository.root))


def _line(line: BlamedLine, source: LineSource | None, path: str) -> WhyLine:
    commit = line.commit.sha if line.commit else None
    if source is None:
        return WhyLine(number=line.number, text=line.text, commit=commit)
    return WhyLine(
        number=line.number,
        text=line.text,
        session_uid=source.edit.session_uid,
        event_uid=source.edit.event_uid,
        certainty=source.certainty,
        moved_from=source.edit.path if source.edit.path != path else None,
        commit=commit,
    )


def _sessions(store: Store, sources: Sequence[LineSource]) -> list[WhySession]:
    counted = Counter(one.edit.session_uid for one in sources)
    titles = best_titles(store, list(counted))
    costs = tree_amounts(store, list(counted))
    found = []
    for uid, count in counted.most_common():
        # The edit that wrote most of the lines stands for the session.
        edits = Counter(one.edit.event_uid for one in sources if one.edit.session_uid == uid)
        event = edits.most_common(1)[0][0]
        edit = next(one.edit for one in sources if one.edit.event_uid == event)
        prompt, start, end = _turn(store, uid, edit.seq)
        text, decided = _words_before(store, uid, start or 0, edit.seq)
        found.append(
            WhySession(
                session_uid=uid,
                title=titles[uid],
                lines=count,
                event_uid=event,
                seq=edit.seq,
                at=format_time(edit.ts) if edit.ts else None,
                prompt=prompt,
                prompt_seq=start,
                said=text,
                decided=decided,
                turn_cost=_turn_cost(store, uid, start or 0, end),
                cost=costs[uid],
            )
        )
    return found


def _turn(store: Store, uid: str, seq: int) -> tuple[str, int | None, int]:
    """Return the prompt before an event, the prompt's seq, and the last seq of its turn."""
    row = store.sessions.row(uid)
    prompts = [] if row is None else sorted(store.events.prompts_of(row.id))
    before = [one for one in prompts if one[0] <= seq]
    after = [one for one in prompts if one[0] > seq]
    end = after[0][0] - 1 if after else _NO_END
    if not before:
        return "", None, end
    place = before[-1][0]
    assert row is not None
    event = store.events.at(row.id, uid, place)
    text = "" if event is None else Bodies(store).of(event).text
    return text[:LONGEST_PROMPT], place, end


def _turn_cost(store: Store, uid: str, first: int, last: int) -> Amount:
    """Return the cost of a turn. Usage without a seq belongs to the last turn."""
    used = [
        charge
        for charge in charges(store, ("seq",), UsageFilter(uids=(uid,)))
        if (last == _NO_END if charge.key[0] is None else first <= charge.key[0] <= last)
    ]
    return CostTally.of(used).amount


def _words_before(store: Store, uid: str, first: int, seq: int) -> tuple[str, tuple[str, ...]]:
    """Return what the agent said last before an event, and what a person decided in the turn."""
    row = store.sessions.row(uid)
    if row is None:
        return "", ()
    text, decided = "", []
    bodies = Bodies(store)
    for place in range(seq - 1, max(first, seq - MOST_BEFORE) - 1, -1):
        event = store.events.at(row.id, uid, place)
        if event is None or event.branch is not None:
            continue
        if event.is_a("assistant_msg") and not text:
            text = bodies.of(event).text.strip()[:LONGEST_PROMPT]
        elif event.is_a("decision"):
            decided.append(event.summary)
    return text, tuple(reversed(decided))


def _commits(commits: Iterable[Commit | None]) -> list[WhyCommit]:
    found = {commit.sha: commit for commit in commits if commit is not None}
    return [
        WhyCommit(one.sha, one.subject, one.author, format_time(one.authored_at))
        for one in found.values()
    ]
