"""Find how an error was resolved before.

Errors are compared without their paths and numbers, over all repositories and agents. Shows the
edit or the command after which the same call succeeded. If nobody had this error, shows similar
ones and says so. With - the text is read from standard input.
"""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import limit_option, make_command
from session_memory.cli.kit.lesson_options import print_learned, remark_unread
from session_memory.cli.kit.output import print_lines, remark, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.cli.lines.look_line import look_line
from session_memory.core.text import below_repo
from session_memory.render.text import cut, cut_middle, safe

if TYPE_CHECKING:
    from session_memory.views.fixes import FixStep, Remedies, Remedy
    from session_memory.views.session_labels import SessionLabels

MOST_TEXT = 4 << 20
WIDE = 100
_HOW = {
    "edit": "resolved by an edit",
    "command": "resolved by a command",
    "instead": "resolved by another call",
    "look": "resolved after reading",
    "again": "the same call succeeded later without a change",
}


@make_command(
    examples=(
        ("fix \"No module named 'yaml'\"", "how was this resolved before?"),
        ("fix - < build.log", "an error in the output of a program"),
        ("fix 'connection refused' --json", "for an agent"),
    ),
    json_shape='{"asked", "fingerprint", "basis", "remedies": [{"session_uid", "name", "flavor",'
    ' "repo", "title", "ended_at", "error", "error_event", "count", "likeness", "kind", "text",'
    ' "again", "steps": [{"event_uid", "seq", "tool", "path", "text", "lines"}, …]}, …],'
    ' "mentions": [HIT, …]}; "basis" is same, similar or nothing, a hit is as in search.',
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
        make_index_whole(settings, memory.store)
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


def _output() -> str:
    """Standard input as text; bytes that are not UTF-8 are replaced."""
    return sys.stdin.buffer.read(MOST_TEXT).decode("utf-8", "replace")


def _lines(found: "Remedies", labels: "SessionLabels", columns: int, now: int) -> Iterator[str]:
    from session_memory.redact import mask_cut

    if found.basis == "similar":
        yield click.style("Not the same error, but a similar one:", fg="yellow")
    for place, remedy in enumerate(found.remedies):
        if place:
            yield ""
        yield from _remedy(remedy, labels, columns, now, is_same=found.basis == "same")
    for hit in found.mentions:
        uid = hit.session_uid
        yield look_line(labels.name(uid), [labels.title(uid)], columns, around=hit.seq)
        yield cut(f"    {safe(mask_cut(hit.snippet.text))}", columns)


def _remedy(
    remedy: "Remedy", labels: "SessionLabels", columns: int, now: int, *, is_same: bool
) -> Iterator[str]:
    from session_memory.views.figures import age

    like = "" if is_same else f" ({remedy.likeness:.0%} alike)"
    yield click.style(cut(safe(f"{remedy.error}{like}"), columns), bold=True)
    facts = [age(remedy.ended_at, now), remedy.repo or "", remedy.flavor]
    yield look_line(remedy.name, facts, columns)
    if title := labels.title(remedy.session_uid):
        yield cut(f"  in: {safe(title)}", columns)
    if remedy.kind is None:
        yield "  not resolved in that session"
        return
    yield click.style(cut(safe(f"  {_HOW.get(remedy.kind, remedy.kind)}"), columns), fg="green")
    for step in remedy.steps:
        yield from _step(step, remedy.repo, columns)
    if not remedy.steps and remedy.text:
        yield _quote(remedy.text, columns)
    if remedy.again:
        yield "  then this succeeded:"
        yield _quote(remedy.again, columns)


def _step(step: "FixStep", repo: str | None, columns: int) -> Iterator[str]:
    from session_memory.cli.lines.diff import diff_lines

    path = below_repo(safe(step.path or ""), repo)
    if path:
        yield f"    {cut_middle(path, columns - 4)}"
    if step.lines:
        yield from (f"      {line}" for line in diff_lines(step.lines, columns - 6))
    elif not path:
        yield _quote(step.text, columns)


def _quote(text: str, columns: int) -> str:
    """A text from a transcript behind a bar, so that nobody takes it for a hint of ours."""
    return cut(f"    │ {safe(text)}", columns)
