"""Find how an error was resolved before.

Compares the error with those of all analyzed sessions, in all repositories and of all agents. Paths
and numbers in errors are ignored. The answer is what resolved the error in an earlier session: an
edit, a command, another call, a look at the file, or just the same call again. Very similar errors
are shown as well. If no session had this error, only similar errors are shown, and the answer says
so. If there are no similar errors either, errors with the same words are shown. Secrets are masked.
If TEXT is -, the error is read from standard input.
"""

import sys
from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import limit_option, make_command
from session_memory.cli.kit.lesson_options import print_learned, remark_unread
from session_memory.cli.kit.output import print_lines, remark, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.web_page import remark_answer
from session_memory.cli.lines.look_line import look_line
from session_memory.cli.lines.short_diff import short_diff
from session_memory.core.text import below_repo, without_place
from session_memory.render.text import cut, cut_middle, safe

if TYPE_CHECKING:
    from session_memory.views.fixes import FixStep, Remedies, Remedy
    from session_memory.views.session_labels import SessionLabels

MOST_TEXT = 4 << 20
WIDE = 100
MOST_QUOTED = 6
MOST_HEADLINES = 3
_HOW = {
    "edit": "an edit resolved it",
    "command": "a command resolved it",
    "instead": "this call worked instead",
    "look": "it worked after the file was read",
    "again": "the same call worked later, without a change",
}
_HOW_SURE = {"likely": " (likely)", "possible": " (possibly)"}


@make_command(
    examples=(
        ("fix \"No module named 'yaml'\"", "how was this resolved before?"),
        ("fix - < build.log", "an error in the output of a program"),
        ("fix 'connection refused' --json", "for an agent"),
    ),
    json_shape='{"asked", "fingerprint", "basis", "remedies": [{"session_uid", "name", "flavor",'
    ' "repo", "title", "ended_at", "error", "error_event", "count", "likeness", "kind", "text",'
    ' "again", "steps": [{"event_uid", "seq", "tool", "path", "text", "lines"}, …],'
    ' "certainty", "said", "lines", "passed", "others"}, …],'
    ' "mentions": [HIT, …]}; "basis" is same, similar or nothing, a hit is as in search;'
    ' "likeness" is 0 to 1; "kind" is edit, command, instead (another call), look, again (the same'
    ' call worked later) or null (not resolved); "again" is the call that failed; "said" is what'
    ' the agent said before the change; "certainty" is certain, likely or possible; "passed" is the'
    " check that succeeded after the change, empty if none is known; "
    '"ended_at" is in milliseconds since 1970; "others", if "kind" is null: how many other sessions'
    " had this error and did not resolve it.",
)
@click.argument("words", nargs=-1, required=True, metavar="TEXT|-")
@limit_option(5)
@click.pass_obj
def command(settings: Settings, words: tuple[str, ...], limit: int) -> None:
    from session_memory.cli.kit.indexing import make_index_whole
    from session_memory.core.time import now_ms
    from session_memory.views.session_labels import session_labels

    text = _output() if words == ("-",) else " ".join(words)
    if not text.strip():
        raise click.UsageError("give the text of the error")
    with settings.memory() as memory:
        store = memory.store
        make_index_whole(settings, store)
        found = memory.fix(text, limit=limit)
        uids = {remedy.session_uid for remedy in found.remedies}
        uids |= {hit.session_uid for hit in found.mentions}
        labels = session_labels(memory.store, uids)
        remark_unread(settings, memory.store)
    if settings.as_json:
        print_learned(found.to_dict())
        return
    if found.basis == "nothing":
        seen = " These events mention it:" if found.mentions else ""
        remark(settings, f"No analyzed session had this error or a similar one.{seen}")
    print_lines(_lines(found, labels, terminal_width() or WIDE, now_ms()))
    remark_answer(settings, store, "/errors", found.asked)


def _output() -> str:
    """Read standard input as text; bytes that are not UTF-8 are replaced."""
    return sys.stdin.buffer.read(MOST_TEXT).decode("utf-8", "replace")


def _lines(found: "Remedies", labels: "SessionLabels", columns: int, now: int) -> Iterator[str]:
    from session_memory.redact import mask_cut
    from session_memory.views.fixes import NEARLY_SAME

    if found.basis == "similar":
        nearly = found.remedies[0].likeness >= NEARLY_SAME
        text = "Nearly the same error:" if nearly else "Not the same error, but a similar one:"
        yield click.style(text, fg="yellow")
    elif found.remedies and found.remedies[0].likeness < 1:
        yield click.style("This error was not resolved before. A similar one:", fg="yellow")
    for place, remedy in enumerate(found.remedies):
        if place:
            yield ""
        yield from _remedy(remedy, labels, columns, now, is_same=remedy.likeness == 1)
    for hit in found.mentions:
        uid = hit.session_uid
        yield look_line(labels.name(uid), [labels.title(uid)], columns, around=hit.seq)
        yield cut(f"    {safe(mask_cut(hit.snippet.text))}", columns)


def _remedy(
    remedy: "Remedy", labels: "SessionLabels", columns: int, now: int, *, is_same: bool
) -> Iterator[str]:
    from session_memory.views.figures import age, plural

    like = "" if is_same else f" ({remedy.likeness:.0%} alike)"
    for line in _headline(f"{remedy.error}{like}", columns):
        yield click.style(line, bold=True)
    facts = [age(remedy.ended_at, now), remedy.repo or "", remedy.flavor]
    yield look_line(remedy.name, facts, columns)
    if title := labels.title(remedy.session_uid):
        yield cut(f"  in: {safe(title)}", columns)
    if remedy.kind is None:
        others = f", nor in {plural(remedy.others, 'other')}" if remedy.others else ""
        yield f"  not resolved in that session{others}"
        return
    sure = _HOW_SURE.get(remedy.certainty, "")
    how = f"{_HOW.get(remedy.kind, remedy.kind)}{sure}"
    yield click.style(cut(safe(f"  {how}:"), columns), fg="green")
    if remedy.said:
        yield from _quoted(f"{remedy.said}”", remedy.repo, columns, bar="  “", most=3)
    yield from _changes(remedy, columns)
    if remedy.passed and remedy.certainty != "possible":
        yield from _quoted(
            f"{without_place(remedy.passed)}`",
            remedy.repo,
            columns,
            bar="  then this passed: `",
            most=1,
        )


def _headline(text: str, columns: int) -> Iterator[str]:
    """Yield up to three lines of an error, because errors may differ only at their ends."""
    lines = wrap(safe(text), columns - 2, subsequent_indent="  ", break_on_hyphens=False)
    for place, line in enumerate(lines[:MOST_HEADLINES], 1):
        yield f"{line} …" if place == MOST_HEADLINES < len(lines) else line


def _changes(remedy: "Remedy", columns: int) -> Iterator[str]:
    if remedy.kind == "edit":
        for step in remedy.steps:
            yield from _step(step, remedy.repo, columns)
        if not remedy.steps:
            yield f"    {cut_middle(below_repo(safe(remedy.text), remedy.repo), columns - 4)}"
            yield from (f"      {line}" for line in short_diff(remedy.lines, columns - 6))
        return
    texts = [step.text for step in remedy.steps] if remedy.kind == "command" else []
    for text in dict.fromkeys(texts or [remedy.text or remedy.again]):
        yield from _quoted(text, remedy.repo, columns)


def _step(step: "FixStep", repo: str | None, columns: int) -> Iterator[str]:
    path = below_repo(safe(step.path or ""), repo)
    if path:
        yield f"    {cut_middle(path, columns - 4)}"
    if step.lines:
        yield from (f"      {line}" for line in short_diff(step.lines, columns - 6))
    else:
        yield from _quoted(step.text, repo, columns)


def _quoted(
    text: str, repo: str | None, columns: int, *, bar: str = "    │ ", most: int = MOST_QUOTED
) -> Iterator[str]:
    """Yield a text from a transcript behind a bar, which shows that it is not our own advice."""
    # A command such as `cd DIRECTORY` keeps the whole path of the repository (``whole_root``).
    text = below_repo(safe(text), repo, whole_root=True)
    lines = wrap(text, max(20, columns - len(bar)), break_on_hyphens=False) or [""]
    for place, line in enumerate(lines[:most]):
        more = " …" if place + 1 == most and len(lines) > most else ""
        margin = bar if place == 0 or bar.strip() == "│" else " " * len(bar)
        yield cut(f"{margin}{line}", columns - len(more)) + more
