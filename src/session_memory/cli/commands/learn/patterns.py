"""Show what goes wrong again and again, and what works.

The analysis notes what stands out in each session, such as an error that came back. Similar notes
are one pattern. Problems come first, then successes, each by rank. Rank = sessions × (1 + D), where
D is the number of binary digits of tokens / 1000: twice as many tokens raise D by only 1. So
frequency counts more than cost. An instruction that a person repeats has no tokens; it ranks as if
it had 8,000. "basis" says whether the tokens were measured or estimated. The cost is the part of
the sessions' cost that belongs to these tokens. --since and --until select sessions by their end.
"""

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from session_memory.cli.kit.command import limit_option, make_command
from session_memory.cli.kit.completion import complete_facet
from session_memory.cli.kit.lesson_options import complete_pattern, print_learned
from session_memory.cli.kit.output import (
    Cell,
    Column,
    print_lines,
    remark,
    table,
    terminal_width,
)
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.when import Period
from session_memory.render.text import safe

if TYPE_CHECKING:
    from session_memory.learn.patterns import Pattern
    from session_memory.views.learning import PatternList

_COLUMNS = (
    Column("id"),
    Column("type", spare=1),
    Column("sessions", right=True),
    Column("times", right=True, spare=2),
    Column("tokens", right=True, spare=3),
    Column("cost", right=True),
    Column("basis", spare=5),
    Column("agents", spare=4),
    Column("what", flexible=True, least=40),
)
_POLARITIES = ("problem", "success")


@make_command(
    examples=(
        ("patterns", "the worst first"),
        ("patterns --repo webshop --since 30d", "in one repository, this month"),
        ("patterns --polarity success", "what works"),
        ("patterns --noise", "also what agents' own tools complain about"),
        ("patterns p-0c88102dbf64", "one pattern, with its evidence"),
        ("patterns --limit 0 --json", "all of them, for a script"),
    ),
    json_shape='{"patterns": [{"id", "type", "polarity", "title", "advice", "locus", "detail",'
    ' "signals", "sessions", "magnitude", "tokens", "microdollars", "basis", "cross_flavor",'
    ' "score", "flavors", "repos", "first_seen", "last_seen", "session_uids", "evidence":'
    ' [{"session_uid", "event_uid"}, …], "resolutions": [{"kind", "text", "sessions"}, …],'
    ' "noise", "rare"}, …], "total", "sessions", "unread", "hidden"}; with an ID {"pattern": …}.'
    ' "locus" is what the pattern is about, "magnitude" how often it occurred, "score" its rank,'
    ' "cross_flavor": several agents have it; "noise": failures of the agents\' own tools; "rare":'
    ' one or two sessions have it; "total" counts the patterns that match, without the "hidden"'
    ' ones, which only --noise shows; "sessions" are analyzed, "unread" wait for analysis.',
)
@click.argument("name", required=False, metavar="[ID]", shell_complete=complete_pattern)
@click.option(
    "--since", type=Period(), metavar="WHEN", help="Since when: 2026-07-01, 2026-07, 7d, yesterday."
)
@click.option(
    "--until",
    type=Period(end=True),
    metavar="WHEN",
    help="Until when; the named day or month is included.",
)
@click.option(
    "--repo",
    shell_complete=complete_facet("repo"),
    metavar="NAME",
    help="Only sessions of this repository; wildcards: * and ?.",
)
@click.option(
    "--type", "kind", metavar="TYPE", help="Only patterns of this type, such as recurring_error."
)
@click.option(
    "--polarity",
    type=click.Choice(_POLARITIES),
    help="Only patterns that are problems, or successes.",
)
@click.option(
    "--noise",
    is_flag=True,
    help="Also show failures of the agents' own tools, and rare patterns, which are hidden in a"
    " store with 50 analyzed sessions or more. --type shows both as well.",
)
@limit_option(20)
@click.pass_obj
def command(
    settings: Settings, /, name: str | None, kind: str | None, limit: int, **filters: Any
) -> None:
    from session_memory.views.learning import find_pattern, pattern_dict
    from session_memory.views.short_names import short_names

    if name is not None:
        _refuse_filters()
    with settings.memory() as memory:
        if name is not None:
            pattern = find_pattern(memory.store, name)
            if settings.as_json:
                print_learned({"pattern": pattern_dict(pattern)})
            else:
                names = short_names(memory.store, pattern.session_uids)
                print_lines(safe(line) for line in _page(pattern, names))
            return
        listing = memory.patterns(type=kind, limit=limit, **filters)
    if settings.as_json:
        print_learned(listing.to_dict())
        return
    print_lines(_lines(listing))
    _remark(settings, listing)


def _refuse_filters() -> None:
    """Raise if the user gave an option of the list with an ID, which would ignore it."""
    ctx = click.get_current_context()
    for name in ("since", "until", "repo", "kind", "polarity", "noise", "limit"):
        if ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            option = "type" if name == "kind" else name
            raise click.UsageError(f"--{option} is for the list of patterns: leave out ID", ctx)


def _remark(settings: Settings, listing: "PatternList") -> None:
    from session_memory.views.figures import plural

    if listing.unread:
        verb = "is" if listing.unread == 1 else "are"
        changed = f"{plural(listing.unread, 'session')} {verb} new or changed"
        remark(settings, f"{changed} since the last analysis: session-memory analyze")
    elif not listing.total:
        analyzed = plural(listing.sessions, "analyzed session")
        remark(settings, f"No pattern matches, of {analyzed}.")
    elif len(listing.patterns) < listing.total:
        shown = f"{len(listing.patterns):,} of {listing.total:,} patterns"
        remark(settings, f"{shown}; --limit 0 lists all. Next: session-memory patterns ID")
    if listing.hidden:
        remark(settings, f"{listing.hidden:,} more are rare, or of the agents' own tools: --noise")


def _lines(listing: "PatternList") -> Iterator[str]:
    if not listing.patterns:
        return iter(())
    return table(_COLUMNS, map(_cells, listing.patterns), terminal_width())


def _cells(pattern: "Pattern") -> list[str | Cell]:
    from session_memory.pricing import Amount, shown
    from session_memory.views.figures import count

    color = {"fg": "green"} if pattern.polarity == "success" else {}
    return [
        pattern.id,
        Cell(pattern.type, color),
        str(pattern.sessions),
        str(pattern.magnitude),
        count(pattern.tokens),
        shown(Amount(pattern.microdollars)) if pattern.microdollars else "-",
        pattern.basis if pattern.tokens else "-",
        ",".join(pattern.flavors),
        pattern.detail,
    ]


def _page(pattern: "Pattern", names: dict[str, str]) -> Iterator[str]:
    from session_memory.learn.advice import advice, how, title
    from session_memory.pricing import Amount, shown
    from session_memory.views.figures import count, local, plural

    yield f"{pattern.id}  {title(pattern)}"
    yield f"  what      {pattern.detail}"
    seen = f"{plural(pattern.sessions, 'session')}, {pattern.times}"
    yield f"  seen      {seen}, {local(pattern.first_seen)} to {local(pattern.last_seen)}"
    yield f"  where     {', '.join(pattern.repos) or '-'} ({', '.join(pattern.flavors)})"
    if pattern.tokens:
        money = shown(Amount(pattern.microdollars))
        yield f"  cost      {count(pattern.tokens)} tokens {pattern.basis}, about {money}"
    for fix in pattern.resolutions:
        yield f"  helped    {how(fix, pattern.only_repo)} ({plural(fix.sessions, 'session')})"
    yield f"  advice    {advice(pattern)}"
    yield "Evidence"
    for evidence in pattern.evidence:
        # The id of an event is from a log, and may be any text.
        around = shlex.quote(evidence.event_uid)
        uid = evidence.session_uid
        yield f"  session-memory show {names.get(uid, uid)} --around {around}"
    if not pattern.evidence:
        newest = pattern.session_uids[-10:]
        yield from (f"  session-memory show {names.get(uid, uid)}" for uid in newest)
