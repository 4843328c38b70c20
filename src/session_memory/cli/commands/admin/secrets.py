"""List where secrets are in the store, without showing them.

Searches all collected logs in the store: messages, outputs, and files beside the logs. An evicted
session (its log is in the archive) is searched only if you name it; if some are left out, the exit
status is 3.

Exported transcripts, digests and training data mask secrets. show, search and Parquet files do not;
a portable export does with --redact. If a secret was printed in a session, revoke it. To keep
secrets out of the store, use sync --redact. To remove sessions from the store, use forget.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.command import limit_option, make_command
from session_memory.cli.kit.completion import complete_facet, complete_uid
from session_memory.cli.kit.output import (
    Cell,
    Column,
    print_json,
    print_lines,
    remark,
    table,
    terminal_width,
)
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.when import Period
from session_memory.render.paths import short_path
from session_memory.views.figures import plural, size

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from session_memory.views.secrets import Finding, SecretList


MOST_KINDS = 6


def complete_kind(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem

    from session_memory.redact import KINDS

    return [CompletionItem(kind) for kind in sorted(KINDS) if kind.startswith(incomplete)]


@make_command(
    examples=(
        ("secrets", "all passwords, keys and tokens"),
        ("secrets 5b0c6a1e", "in one session"),
        ("secrets --kind github-token --since 30d", "one kind, of the last 30 days"),
        ("secrets --limit 0 --json", "all of them, for a script"),
    ),
    json_shape='{"secrets": [{"session_uid", "event_uid", "seq", "kind", "number", "count",'
    ' "genuine", "preview", "path", "offset"}, …], "total", "distinct", "kinds": {KIND: COUNT},'
    ' "bytes"}; equal numbers are the same secret; "preview": the text around it, without it;'
    ' "genuine": whether its checksum is right, if it has one; "total" counts places, "distinct"'
    ' different secrets, "bytes" what was searched. The totals count everything, not only the'
    " listed ones."
    ' "evicted" is the number of evicted sessions that were not searched, if any.',
)
@click.argument("session", required=False, metavar="[UID]", shell_complete=complete_uid)
@click.option(
    "--kind", metavar="KIND", shell_complete=complete_kind, help="Only secrets of this kind."
)
@click.option(
    "--flavor",
    shell_complete=complete_facet("flavor"),
    metavar="NAME",
    help="Only in sessions of this agent; wildcards: * and ?.",
)
@click.option(
    "--host", metavar="NAME", help="Only in sessions of the machine NAME; wildcards: * and ?."
)
@click.option(
    "--repo",
    shell_complete=complete_facet("repo"),
    metavar="NAME",
    help="Only in sessions of this repository; wildcards: * and ?.",
)
@click.option(
    "--since", type=Period(), metavar="WHEN", help="Since when: 2026-07-01, 7d, yesterday."
)
@click.option(
    "--until",
    type=Period(end=True),
    metavar="WHEN",
    help="Until when; the named day or month is included.",
)
@limit_option(100)
@click.pass_obj
def command(
    settings: Settings, /, session: str | None, kind: str | None, limit: int, **filters: Any
) -> None:
    from session_memory.cli.kit.progress import progress
    from session_memory.cli.lines.retention import end_incomplete
    from session_memory.views.lookup import find_session
    from session_memory.views.secrets import list_secrets
    from session_memory.views.sessions import Filter
    from session_memory.views.short_names import short_names

    _refuse_unknown(kind)
    given = any(value is not None for value in filters.values())
    sessions = Filter(**filters) if given else None
    with settings.opened() as store, progress(settings, "Searching") as bar:
        uid = find_session(store, session) if session else None
        listing = list_secrets(store, sessions, uid=uid, kind=kind, limit=limit, progress=bar)
        names = short_names(store, {one.session_uid for one in listing.findings if one.session_uid})
    if settings.as_json:
        print_json(listing.to_dict())
        end_incomplete(settings, listing.evicted)
        return
    print_lines(_lines(listing.findings, names))
    remark(settings, _sums(listing))
    end_incomplete(settings, listing.evicted)


def _refuse_unknown(kind: str | None) -> None:
    from difflib import get_close_matches

    from session_memory.redact import KINDS

    if kind is not None and kind not in KINDS:
        near = get_close_matches(kind, KINDS, n=1)
        close = f" Did you mean {near[0]}?" if near else ""
        raise click.BadParameter(f"unknown kind of secret {kind!r}.{close}", param_hint="--kind")


def _lines(findings: "list[Finding]", names: dict[str, str]) -> Iterator[str]:
    columns = (
        Column("session", flexible=True),
        Column("event", right=True),
        Column("kind"),
        Column("#", right=True),
        Column("times", right=True),
        Column("where", flexible=True),
    )
    rows = (
        (
            Cell(names.get(finding.session_uid or "", short_path(finding.path)), {"fg": "cyan"}),
            "-" if finding.seq is None else str(finding.seq),
            Cell(finding.kind, {"fg": "red" if finding.genuine else "yellow"}),
            str(finding.number or "-"),
            str(finding.count),
            finding.preview,
        )
        for finding in findings
    )
    return table(columns, rows, terminal_width()) if findings else iter(())


def _sums(listing: "SecretList") -> str:
    if not listing.total and not listing.bytes:
        return "Nothing was searched: no log of a session matches."
    if not listing.total:
        return f"No secrets in {size(listing.bytes)} of logs."
    most = list(listing.kinds.items())[:MOST_KINDS]
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in most)
    if len(most) < len(listing.kinds):
        kinds += f" and {plural(len(listing.kinds) - len(most), 'other kind')}"
    found = f"{plural(listing.distinct, 'secret')} in {plural(listing.total, 'place')}: {kinds}."
    if len(listing.findings) < listing.total:
        return f"{found} --limit 0 lists all."
    return found
