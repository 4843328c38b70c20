"""Show the outcome, cost, errors and fixes of a session.

The digest has the outcome with its evidence, cost and time, files and commands, errors with what
resolved them, and where a person stepped in. Secrets are masked. If the session was not analyzed in
its present state by this version, a digest is made and shown, but not stored; session-memory
analyze stores it. Of an evicted session (its log is in the archive) the stored digest is shown.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.lesson_options import print_learned
from session_memory.cli.kit.output import print_lines, remark, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.web_page import remark_page
from session_memory.cli.lines.folding import wrapped
from session_memory.core.text import below_repo
from session_memory.render.text import cut, safe, width

if TYPE_CHECKING:
    from session_memory.learn.digest import Digest, ErrorSnippet, FileUse
    from session_memory.store import Store
    from session_memory.views.learning import DigestShown

MOST = 10
WIDE = 110
# An error is cut here, so that what resolved it is in the line, too.
ERROR_WIDE = 80
MARGIN = " " * 12
# How Claude Code begins the result of a call that a person refused.
_REFUSED = "The user doesn't want"


@make_command(
    examples=(
        ("digest 5b0c6a1e", "a session on one page"),
        ("digest 5b0c6a1e --json", "with all fields, for a script"),
    ),
    json_shape='{"digest": {"session_uid", "outcome": {"outcome", "reason", "evidence"}, "cost",'
    ' "kinds", "tools", "markers", "files", "commands", "tests", "error_snippets", "prompts",'
    ' "interventions", "decisions", "time", "context", …}, "signals": [SIGNAL, …], "is_stored",'
    ' "is_outdated", "continued_in"}; "is_outdated": an older version made the stored digest;'
    ' "continued_in": the session that carries out the plan of this one, or null.'
    " docs/learning.md lists the fields.",
)
@click.argument("session", metavar="UID", shell_complete=complete_uid)
@click.pass_obj
def command(settings: Settings, session: str) -> None:
    from session_memory.views.session_labels import session_labels

    with settings.memory() as memory:
        shown = memory.session(session).digest()
        store = memory.store
        uid = shown.digest.session_uid
        evidence = [] if settings.as_json else _evidence(memory.store, shown.digest)
        title = session_labels(memory.store, [uid]).title(uid)
    if settings.as_json:
        print_learned(shown.to_dict())
        return
    print_lines(_fitting(_lines(shown, title, evidence), terminal_width()))
    if shown.is_outdated:
        remark(settings, _outdated(shown))
    elif not shown.is_stored:
        remark(settings, "Not stored yet. Store it: session-memory analyze")
    remark_page(settings, store, uid, "digest")


def _evidence(store: "Store", digest: "Digest") -> list[str]:
    """Return the numbers of the events that prove the outcome, for ``show --around``.

    An event of an evicted session is named by its id, because its number is only in the archive.
    An event that the session no longer has is named by its id, too.
    """
    from session_memory.core.errors import UnknownEvent
    from session_memory.views.event_lookup import find_event

    uid, evidence = digest.session_uid, digest.outcome.evidence
    session = store.sessions.get(uid)
    if session is None or session.evicted_at is not None:
        return list(evidence)
    names = []
    for event in evidence:
        try:
            names.append(str(find_event(store, uid, event)))
        except UnknownEvent:
            names.append(event)
    return names


def _fitting(lines: Iterable[str], columns: int | None) -> Iterator[str]:
    """Make lines safe. Wrap and indent a line that is longer than the terminal."""
    for line in map(safe, lines):
        if columns is None or width(line) <= columns:
            yield line
            continue
        first, *others = wrapped(line, columns - len(MARGIN))
        yield from (first, *(f"{MARGIN}{other}" for other in others))


def _outdated(shown: "DigestShown") -> str:
    if shown.is_stored:
        return "An older version made this digest. The session is evicted, so it stays as it is."
    return "An older version made the stored digest. Store this one: session-memory analyze"


def _lines(shown: "DigestShown", title: str, evidence: list[str]) -> Iterator[str]:
    from session_memory.derive.agents import about

    digest = shown.digest
    agent = about(digest.session_uid.partition(":")[0])
    yield title or digest.title or ""
    yield f"  session   {digest.session_uid}"
    yield from _head(digest, shown.continued_in, evidence)
    repo = digest.repo
    yield from _part("Errors", [_error(one, repo) for one in digest.error_snippets])
    yield from _part("Tests", [below_repo(line, repo) for line in _tests(digest)])
    yield from _part("Files", [_file(file, repo) for file in digest.files])
    commands = (f"│ {c.text} ({c.runs}×)" for c in digest.commands)
    yield from _part("Commands", [below_repo(line, repo) for line in commands])
    yield from _part("Commits", [commit.text for commit in digest.commits])
    follows = agent.reason_follows
    stepped_in = [_refusal(one.text, follows) for one in digest.interventions]
    yield from _part("A person stepped in", stepped_in)
    decided = [_refusal(agent.readable(one.text), follows) for one in digest.decisions]
    yield from _part("Decided", decided)
    signals = [below_repo(f"{one.type}: {one.detail}", repo) for one in shown.signals]
    yield from _part("Stands out", signals)


def _head(digest: "Digest", continued_in: str | None, evidence: list[str]) -> Iterator[str]:
    from session_memory.pricing import Amount, shown
    from session_memory.views.figures import count, duration, plural

    outcome, cost, time = digest.outcome, digest.cost, digest.time
    events = "event" if len(evidence) == 1 else "events"
    proof = f" ({events} {', '.join(evidence)})" if evidence else ""
    yield f"  outcome   {outcome.outcome}, by {outcome.reason}{proof}"
    if continued_in is not None:
        yield f"  goes on   in {continued_in}"
    elif digest.outcome.reason == "plan":
        yield "  goes on   in no session of this store; a plan closed with Escape looks the same"
    amount = shown(Amount(cost.microdollars, cost.unpriced_tokens))
    yield f"  cost      {amount}, {count(cost.tokens)} tokens, {plural(cost.turns, 'turn')}"
    ms = {"person": time.person_ms, "model": time.model_ms, "tools": time.tools_ms}
    split = ", ".join(f"{who} {duration(spent / 1000)}" for who, spent in ms.items())
    yield f"  time      {split}"
    grown = digest.context
    tokens = f"{count(grown.first)} to {count(grown.peak)} tokens"
    yield f"  context   {tokens}, compacted {grown.compactions}×"
    marks = digest.markers
    figures = (
        plural(marks.error, "error"),
        plural(marks.retry, "retry", "retries"),
        plural(marks.test, "test run"),
        plural(marks.edit, "edit"),
        plural(marks.human, "intervention"),
    )
    yield f"  events    {digest.events}: {', '.join(figures)}"
    if digest.first_request is not None:
        yield f"  asked     {cut(' '.join(digest.first_request.text.split()), WIDE)}"


def _refusal(text: str, follows: str) -> str:
    """Return what a person said to refuse a call, without the words that the agent adds.

    ``follows`` is the text before the person's own words. Other texts stay as they are.
    """
    if not text.startswith(_REFUSED):
        return text
    reason = text.partition(follows)[2].strip() if follows else ""
    return f"refused a call: {reason}" if reason else "refused a call"


def _error(error: "ErrorSnippet", repo: str | None) -> str:
    from session_memory.learn.advice import how
    from session_memory.learn.patterns import Fix

    solved = error.resolution
    end = how(Fix(solved.kind, solved.text, 1), repo) if solved else "not resolved"
    sample = cut(below_repo(error.sample, repo), ERROR_WIDE)
    return f"{error.count}× {sample} [{error.fingerprint}]: {end}"


def _file(file: "FileUse", repo: str | None) -> str:
    from session_memory.views.figures import plural

    return (
        f"{below_repo(file.path, repo)}: {plural(file.edits, 'edit')}, {plural(file.reads, 'read')}"
    )


def _tests(digest: "Digest") -> Iterator[str]:
    words = {True: "passed", False: "failed", None: "no verdict"}
    for run in digest.tests:
        numbers = [f"{run.passed_count} passed"] if run.passed_count is not None else []
        numbers += [f"{run.failed_count} failed"] if run.failed_count else []
        counted = f" · {', '.join(numbers)}" if numbers else ""
        yield f"{words[run.passed]}: {run.command}{counted}"


def _part(name: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield name
        yield from (f"  {cut(' '.join(line.split()), WIDE + 40)}" for line in lines[:MOST])
        if len(lines) > MOST:
            yield f"  … and {len(lines) - MOST} more"
