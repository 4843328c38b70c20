"""List sessions, newest first.

A subagent is left out of the list if the session that started it is in the list. "+3 subagents"
after the title of that session is the number of subagents that are left out. If that session is not
in the store, only its newest subagent is listed, with "+3 more". A wide terminal also shows the
cost of the subagents that are left out. --all, --parent and --json list all subagents. Tokens and
cost in the columns are those of the session without its subagents. The column "in" counts tokens
that were sent to the model uncached, "cache" those read from or written to its cache.
"""

from collections.abc import Iterator
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.command import limit_option, make_command
from session_memory.cli.kit.completion import complete_facet
from session_memory.cli.kit.output import print_json, print_lines, remark, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.web_page import remark_answer
from session_memory.cli.kit.when import when_options

if TYPE_CHECKING:
    from session_memory.views.sessions import SessionList

OUTCOMES = ("success", "fail", "abandoned", "continued", "unknown")
SORTS = ("newest", "oldest", "tokens", "output", "turns", "time", "size", "cost")


@make_command(
    examples=(
        ("sessions", "the newest twenty"),
        ("sessions --since 7d --repo webshop", "this week, in one repository"),
        (
            "sessions --roots --sort tokens --limit 5",
            "which used the most tokens, without subagents",
        ),
        ("sessions --task 12", "who worked on issue or pull request 12"),
        ("sessions --all", "subagents too"),
        ("sessions --limit 0 --json", "all of them, for a script"),
    ),
    json_shape='{"sessions": [SESSION, …], "amounts": {UID: {"microdollars", "unpriced_tokens"},'
    " …}}; each session with all its fields, and its amount without subagents, in millionths of a"
    ' dollar; "unpriced_tokens" are not in the amount, because their model has no price.',
)
@click.option(
    "--flavor",
    shell_complete=complete_facet("flavor"),
    metavar="NAME",
    help="Only sessions of this agent; wildcards: * and ?.",
)
@click.option(
    "--host", metavar="NAME", help="Only sessions of the machine NAME; wildcards: * and ?."
)
@click.option(
    "--repo",
    shell_complete=complete_facet("repo"),
    metavar="NAME",
    help="Only sessions of this repository; wildcards: * and ?.",
)
@click.option("--domain", metavar="NAME", help="Only repositories of this domain (see config).")
@click.option(
    "--branch", metavar="NAME", help="Only sessions on this git branch; wildcards: * and ?."
)
@click.option(
    "--model",
    shell_complete=complete_facet("model"),
    metavar="TEXT",
    help="Only models whose name contains this; wildcards: * and ?.",
)
@click.option("--outcome", type=click.Choice(OUTCOMES), help="Only sessions with this outcome.")
@click.option("--title", metavar="TEXT", help="Only sessions whose shown title contains this.")
@click.option(
    "--task", metavar="REF", help="Only sessions that worked on this issue, pull request or ticket."
)
@click.option("--parent", metavar="UID", help="Only subagents, forks and resumes of this session.")
@click.option("--all", "every", is_flag=True, help="List subagents as well.")
@click.option("--roots", is_flag=True, help="Leave out subagents.")
@when_options
@click.option(
    "--sort",
    type=click.Choice(SORTS),
    default="newest",
    show_default=True,
    help="The order of the list. newest: the last ended first; oldest: the first started first;"
    " others: the largest first.",
)
@limit_option(20)
@click.pass_obj
def command(settings: Settings, /, tz: tzinfo | None, every: bool, **filters: Any) -> None:
    from session_memory.cli.lines.session_table import session_lines
    from session_memory.views.figures import plural
    from session_memory.views.outdated import outdated

    # Programs get every session. With --parent, the subagents are what the user asked for.
    is_folded = not (every or settings.as_json or filters["roots"] or filters["parent"])
    with settings.memory() as memory:
        store = memory.store
        listing = memory.sessions(folded=is_folded, **filters).listing()
        old_digests = 0 if settings.as_json else outdated(store)
    if settings.as_json:
        print_json(listing.to_dict())
        return
    print_lines(session_lines(listing, terminal_width(), tz))
    if not listing.stored:
        remark(settings, "No sessions yet. Collect them: session-memory sync")
    elif not listing.total:
        from session_memory.views.figures import plural

        remark(settings, f"No session matches, of {plural(listing.stored, 'session')}.")
    elif left_out := list(_left_out(listing)):
        for line in (*left_out, "Next: session-memory show SESSION"):
            remark(settings, line)
    remark_answer(settings, store, "/sessions")
    if old_digests:
        made = f"An older version made {plural(old_digests, 'digest')}"
        remark(settings, f"{made}. Make them again: session-memory analyze")


def _left_out(listing: "SessionList") -> Iterator[str]:
    """Yield remarks: what the list leaves out, and how to see it."""
    from session_memory.views.figures import plural

    if len(listing.sessions) < listing.total:
        total = plural(listing.total, "session")
        yield f"{len(listing.sessions):,} of {total}; --limit 0 lists all."
    if listing.folded:
        yield f"{plural(listing.folded, 'subagent')} folded; --all lists them."
    evicted = sum(session.evicted_at is not None for session in listing.sessions)
    if evicted:
        verb = "is" if evicted == 1 else "are"
        yield f"{evicted:,} of these {verb} evicted: show reads the archive."
