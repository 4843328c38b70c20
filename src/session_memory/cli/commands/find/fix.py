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
from session_memory.render.text import cut, safe

if TYPE_CHECKING:
    from session_memory.views.fixes import FixStep, Remedies, Remedy

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

    text = _output() if words == ("-",) else " ".join(words)
    if not text.strip():
        raise click.UsageError("give the text of the error")
    with settings.memory() as memory:
        make_index_whole(settings, memory.store)
        found = memory.fix(text, limit=limit)
        remark_unread(settings, memory.store)
    if settings.as_json:
        print_learned(found.to_dict())
        return
    print_lines(_lines(found, terminal_width() or WIDE, now_ms()))
    if found.basis == "nothing":
        seen = " These events mention it:" if found.mentions else ""
        remark(settings, f"No analyzed session had this error or a similar one.{seen}")


def _output() -> str:
    """Standard input as text; bytes that are not UTF-8 are replaced."""
    return sys.stdin.buffer.read(MOST_TEXT).decode("utf-8", "replace")


def _lines(found: "Remedies", columns: int, now: int) -> Iterator[str]:
    from session_memory.redact import mask_cut

    if found.basis == "similar":
        yield click.style("Not the same error, but a similar one:", fg="yellow")
    for place, remedy in enumerate(found.remedies):
        if place:
            yield ""
        yield from _remedy(remedy, columns, now, is_same=found.basis == "same")
    for hit in found.mentions:
        at = "" if hit.seq is None else f" --around {hit.seq}"
        look = f"session-memory show {hit.session_uid}{at}"
        yield cut(safe(f"{look}  # {mask_cut(hit.snippet.text)}"), columns)


def _remedy(remedy: "Remedy", columns: int, now: int, *, is_same: bool) -> Iterator[str]:
    from session_memory.views.figures import age

    like = "" if is_same else f" ({remedy.likeness:.0%} alike)"
    yield click.style(cut(safe(f"{remedy.error}{like}"), columns), bold=True)
    facts = [remedy.flavor, remedy.repo or "", age(remedy.ended_at, now), remedy.title or ""]
    look = click.style(safe(f"session-memory show {remedy.name}"), fg="cyan")
    yield f"  {look}  {click.style(safe(' · '.join(filter(None, facts))), dim=True)}"
    if remedy.kind is None:
        yield "  not resolved in that session"
        return
    yield click.style(cut(safe(f"  {_HOW.get(remedy.kind, remedy.kind)}"), columns), fg="green")
    for step in remedy.steps:
        yield from _step(step, columns)
    if not remedy.steps and remedy.text:
        yield cut(f"    {safe(remedy.text)}", columns)
    if remedy.again:
        yield cut(f"  then this succeeded: {safe(remedy.again)}", columns)


def _step(step: "FixStep", columns: int) -> Iterator[str]:
    from session_memory.cli.lines.diff import diff_lines

    if step.lines:
        yield cut(f"    {safe(step.path or '')}", columns)
        yield from (f"      {line}" for line in diff_lines(step.lines, columns - 6))
    else:
        yield cut(f"    {safe(step.path or step.text)}", columns)
