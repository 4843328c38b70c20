"""Look back: what was done, what it cost, what went wrong.

Shows the sessions that ended in the period, by repository: outcomes, cost, commits, and up to seven
problems, the most expensive first and rare ones last. Each problem has a suggestion and commands
that show where it occurred. A problem that was accepted or rejected as a lesson is marked. With
UID, shows the same for one session and its subagents. Only analyzed sessions are included. Secrets
are masked.
"""

from datetime import tzinfo
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.calling import callable_text
from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_facet, complete_uid
from session_memory.cli.kit.failures import PROBLEMS
from session_memory.cli.kit.lesson_options import print_learned
from session_memory.cli.kit.output import print_lines, remark, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.when import when_options
from session_memory.render.text import safe_lines

if TYPE_CHECKING:
    from session_memory.learn.retro import Retro

FORMATS = ("text", "markdown", "json", "html")
WIDE = 100
DAY_MS = 86_400_000


@make_command(
    examples=(
        ("retro", "the last seven days, by repository"),
        ("retro --since 30d --repo webshop", "the last thirty days of one of them"),
        ("retro --since 2026-07 --until 2026-07", "one month"),
        ("retro 5b0c6a1e", "one session"),
        ("retro > retro.md", "as Markdown"),
        ("retro --format html > retro.html", "a page to keep or to send"),
    ),
    json_shape='{"since", "until", "repos": [{"repo", "sessions", "subagents", "outcomes",'
    ' "tokens", "microdollars", "unpriced_tokens", "done": […], "problems": [PATTERN, …], "fixed":'
    ' […], "suggestions": [{"text", "why", "pattern_id", "tokens", "microdollars", "basis",'
    ' "look", "is_lesson", "decided"}, …]}, …], "skills": […], "unread"}; "decided" is "accepted",'
    ' "rejected" or "": what became of the lesson; "unread" counts sessions that are not analyzed'
    ' yet, "evicted" skill logs that were moved to the archive and cannot be read, if any; then the'
    " exit status is 3.",
)
@click.argument("session", required=False, metavar="[UID]", shell_complete=complete_uid)
@when_options
@click.option(
    "--days",
    type=click.IntRange(1, 36500),
    metavar="N",
    help="Sessions that ended in the last N days.  [default: 7]",
)
@click.option(
    "--repo",
    shell_complete=complete_facet("repo"),
    metavar="NAME",
    help="Only sessions of this repository; wildcards: * and ?.",
)
@click.option(
    "--format",
    "style",
    type=click.Choice(FORMATS),
    help="How to print it; --json is the same as --format json.  [default: text on a terminal,"
    " else markdown]",
)
@click.pass_obj
def command(
    settings: Settings,
    session: str | None,
    since: int | None,
    until: int | None,
    tz: tzinfo | None,
    days: int | None,
    repo: str | None,
    style: str | None,
) -> None:
    from session_memory.cli.lines.retro import retro_lines
    from session_memory.core.time import now_ms
    from session_memory.views.retro import to_html, to_markdown
    from session_memory.views.session_labels import session_labels

    if days is not None and (since is not None or until is not None):
        raise click.UsageError("give --days, or --since and --until")
    if session is not None and (days or repo or since is not None or until is not None):
        raise click.UsageError("give a session, or a period and a repository")
    if days is not None:
        since = now_ms() - days * DAY_MS
    with settings.memory() as memory:
        if session is None:
            found = memory.retro(since=since, until=until, repo=repo)
        else:
            found = memory.retro(session)
        labels = session_labels(memory.store, _uids(found))
        newest = memory.sessions(repo=repo, limit=1).first()
    style = style or ("text" if terminal_width() else "markdown")
    if settings.as_json or style == "json":
        print_learned(found.to_dict())
    elif style == "html":
        click.echo(to_html(found), nl=False)
    elif style == "markdown":
        click.echo("\n".join(safe_lines(to_markdown(found).rstrip("\n"))))
    else:
        print_lines(map(callable_text, retro_lines(found, terminal_width() or WIDE, labels)))
        if found.repos:
            next_commands = "session-memory show SESSION, session-memory patterns PATTERN"
            remark(settings, f"Next: {next_commands}")
    if not found.repos and newest is not None and newest.ended_at:
        day = newest.ended_at[:10]
        remark(settings, f"The newest session ended on {day}: session-memory retro --since {day}")
    elif not found.repos and newest is None and repo is not None:
        remark(settings, f"No session is of {repo}. List repositories: session-memory stats repos")
    if found.evicted:
        click.get_current_context().exit(PROBLEMS)


def _uids(found: "Retro") -> set[str]:
    """Return the uids of the sessions that a retrospective names."""
    done = {work.session_uid for repo in found.repos for work in repo.done}
    problems = [problem for repo in found.repos for problem in repo.problems]
    seen = {seen.session_uid for problem in problems for seen in problem.evidence}
    return done | seen | {fixed.session_uid for repo in found.repos for fixed in repo.fixed}
