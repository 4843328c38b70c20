"""Delete sessions from everything in the store, with proof.

Name the sessions by UID, or select them with --repo, --before or both (then sessions that match
both). Deletes the sessions and their subagents from the database, also from its free pages and its
write-ahead log, from the index, the digests, the lessons, the Parquet files (lake) and the archive.
Forks keep the events that they share with a deleted session. Only hashes of ids and paths are kept,
so that a later sync skips the deleted sessions.

Then searches all these files, compressed data included, for samples of the deleted text. If any is
found, or something could not be cleared from the disk, the exit status is 1. Lists what the command
cannot delete: the agents' own logs, backups, exports.
"""

from itertools import islice
from typing import TYPE_CHECKING, NoReturn

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_facet, complete_uid
from session_memory.cli.kit.confirm import confirm
from session_memory.cli.kit.failures import FAILED
from session_memory.cli.kit.output import Column, print_json, print_lines, table, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import pasteable, short_path
from session_memory.render.text import safe
from session_memory.views.figures import plural

if TYPE_CHECKING:
    from session_memory.retain.forget import ForgetResult
    from session_memory.retain.forget_plan import ForgetPlan
    from session_memory.retain.proof import Proof
    from session_memory.store import Store

SHOWN = 10


@make_command(
    examples=(
        ("forget 5b0c6a1e --dry-run", "what would be deleted, and what could not"),
        ("forget 5b0c6a1e", "delete a session"),
        ("forget --repo private-notes --yes", "all sessions of a repository"),
        ("forget --lift claude:5b0c6a1e-…", "let a later sync collect it again"),
    ),
    json_shape='{"dry_run", "forgotten": [UID, …], "sources": [PATH, …], "shared": [PATH, …],'
    ' "keep": [UID, …], "archives": [FILE, …], "unreachable": [TEXT, …], "proof": {"samples",'
    ' "held_by_others", "files", "packs", "found": [PLACE, …], "unswept": [TEXT, …]} or null};'
    ' "shared" logs have other sessions too, "keep" are forks that keep shared events,'
    ' "unreachable" is what cannot be deleted; of the proof, "samples" were searched for,'
    ' "held_by_others" of them are in other sessions too and may be found there, "found" is where'
    ' others are left, "unswept" what is not cleared from the disk yet. With --lift: {"lifted":'
    " [UID, …]}, empty if the session was not forgotten.",
)
@click.argument("sessions", nargs=-1, metavar="[UID]...", shell_complete=complete_uid)
@click.option(
    "--repo",
    shell_complete=complete_facet("repo"),
    metavar="NAME",
    help="Forget all sessions of the repository with exactly this name.",
)
@click.option(
    "--before",
    metavar="WHEN",
    help="Forget all sessions that ended before this time; with --repo, only those of the"
    " repository.",
)
@click.option(
    "--with-forks",
    is_flag=True,
    help="Also forget forks and resumed sessions that share events with the sessions.",
)
@click.option("--without-subagents", is_flag=True, help="Keep the subagents of the sessions.")
@click.option(
    "--lift",
    metavar="UID",
    help="Let a later sync collect this session again, but not its subagents; give the whole uid.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@click.option("--yes", is_flag=True, help="Do not ask; needed with --json.")
@click.pass_context
def command(
    ctx: click.Context,
    sessions: tuple[str, ...],
    repo: str | None,
    before: str | None,
    with_forks: bool,
    without_subagents: bool,
    lift: str | None,
    dry_run: bool,
    yes: bool,
) -> None:
    from session_memory.core.time import now_ms
    from session_memory.retain.forget import forget, sweep
    from session_memory.retain.forget_plan import plan_of, with_relatives
    from session_memory.views.lessons import files_with_lessons_of, forget_in_lessons

    settings: Settings = ctx.obj
    if sessions and (repo is not None or before is not None):
        # Together, these would also delete sessions that the user did not name.
        raise click.UsageError("give sessions, or --repo and --before, not both")
    if lift is not None and (sessions or repo is not None or before is not None or dry_run):
        raise click.UsageError(
            "--lift deletes nothing: give it without sessions, --repo, --before and --dry-run"
        )
    config = settings.configuration()
    with settings.opened(config) as store:
        if lift is not None:
            _lift(settings, store, lift)
            return
        # An earlier run may have been killed after it deleted rows, before it cleared their pages.
        left = None if dry_run else sweep(store, now_ms(), config)
        named = _named(store, sessions, repo, before)
        if not named and left is not None:
            _show_swept(settings, left)
            ctx.exit(FAILED if left else 0)
        uids = with_relatives(store, named, subagents=not without_subagents, forks=with_forks)
        if not uids:
            _refuse_nothing(repo, before)
        plan = plan_of(store, config, uids)
        plan.unreachable[:0] = map(_with_lesson, files_with_lessons_of(store, config, uids))
        if dry_run:
            _show(settings, plan, None, _titles(store, plan))
            return
        if not (yes or settings.as_json):
            _print_plan(plan, "Would be forgotten", _titles(store, plan))
        confirm(settings, f"Forget {plural(len(uids), 'session')} for good?", yes=yes)
        with store.db.operation_lock(shared=False):
            # A subagent may have been collected while we waited for the user's answer.
            uids = with_relatives(store, uids, subagents=not without_subagents, forks=with_forks)
            held = files_with_lessons_of(store, config, uids)
            # Lessons come first: after `forget` the store no longer knows the sessions, so lessons
            # that could not be changed could not be found again.
            forget_in_lessons(store, config, uids)
            done = forget(store, config, uids, now_ms())
        done.plan.unreachable[:0] = map(_with_lesson, held)
    _show(settings, done.plan, done, {})
    if done.proof.found or done.proof.unswept:
        ctx.exit(FAILED)


def _show_swept(settings: Settings, left: list[str]) -> None:
    """Print the result of finishing an earlier, killed run, if no session was named."""
    if settings.as_json:
        print_json({"dry_run": False, "forgotten": [], "unswept": left})
    elif not settings.quiet:
        _print_unswept(left)
        if not left:
            click.echo("Finished an earlier, interrupted forget: the free pages are clean.")


def _print_unswept(left: list[str]) -> None:
    if left:
        click.secho("Deleted, but not yet cleared from the disk:", fg="red")
    for line in left:
        click.secho(safe(f"  {line}"), fg="red")


def _with_lesson(path: str) -> str:
    revert = f"session-memory lessons revert --target {pasteable(path)}"
    return f"{path}: still has a lesson from these sessions. Remove it with: {revert}"


def _named(
    store: "Store", sessions: tuple[str, ...], repo: str | None, before: str | None
) -> list[str]:
    from session_memory.core.time import parse_time
    from session_memory.views.lookup import find_stored
    from session_memory.views.periods import period

    uids = []
    for text in sessions:
        uids.append(find_stored(store, text))
    if repo is not None or before is not None:
        limit = None if before is None else period(before)[0]
        for one in store.sessions.every():
            is_old = (
                one.ended_at is not None and limit is not None and parse_time(one.ended_at) < limit
            )
            if repo in (None, one.repo) and (limit is None or is_old):
                uids.append(one.session_uid)
    return uids


def _refuse_nothing(repo: str | None, before: str | None) -> NoReturn:
    if repo is None and before is None:
        raise click.UsageError("give the sessions to forget, or --repo or --before")
    from session_memory.core.errors import StoreError

    raise StoreError("no session matches", "List them with: session-memory sessions --all")


def _titles(store: "Store", plan: "ForgetPlan") -> dict[str, str]:
    """Return the titles of the sessions that are listed, by uid."""
    rows = (store.sessions.row(uid) for uid in plan.uids[:SHOWN])
    return {row.uid: row.title or "" for row in rows if row is not None}


def _lift(settings: Settings, store: "Store", uid: str) -> None:
    from session_memory.retain.forget import allow_again

    known = allow_again(store, uid)
    if settings.as_json:
        print_json({"lifted": [uid] if known else []})
    elif known:
        click.echo(safe(f"The next session-memory sync collects {uid} again."))
    else:
        click.echo(safe(f"{uid} was not forgotten. Give the whole uid, as forget printed it."))


def _show(
    settings: Settings, plan: "ForgetPlan", done: "ForgetResult | None", titles: dict[str, str]
) -> None:
    if settings.as_json:
        import msgspec

        values = msgspec.to_builtins(plan)
        proof = None if done is None else msgspec.to_builtins(done.proof)
        print_json(
            {"dry_run": done is None, "forgotten": values.pop("uids"), **values, "proof": proof}
        )
        return
    if done is None or not settings.quiet:
        _print_plan(plan, "Would be forgotten" if done is None else "Forgotten", titles)
    if done is not None:
        _print_proof(done.proof, quiet=settings.quiet)


def _print_proof(proof: "Proof", *, quiet: bool) -> None:
    """Print what was searched and, even with ``quiet``, what is left."""
    if not quiet:
        click.echo(
            f"Searched {plural(proof.files, 'file')} and {plural(proof.packs, 'pack')} for"
            f" {plural(proof.samples, 'sample')} of their text:"
            f" {'some are' if proof.found else 'none is'} left."
        )
        if proof.held_by_others:
            click.echo(f"{_are(proof.held_by_others)} in other sessions too, which keep them.")
        elif not proof.samples:
            click.echo("Their texts are too short for samples: only rows and names were checked.")
    for place in proof.found:
        click.secho(f"  still in {safe(place)}", fg="red")
    _print_unswept(proof.unswept)


def _are(samples: int) -> str:
    return "1 of the samples is" if samples == 1 else f"{samples:,} of the samples are"


def _print_plan(plan: "ForgetPlan", done: str, titles: dict[str, str]) -> None:
    click.echo(f"{done}: {plural(len(plan.uids), 'session')}.")
    columns = (Column(""), Column("", flexible=True))
    rows = [(f"  {uid}", titles.get(uid, "")) for uid in plan.uids[:SHOWN]]
    # The table has no titles of columns, so its first line is empty.
    print_lines(islice(table(columns, rows, terminal_width()), 1, None))
    if len(plan.uids) > SHOWN:
        click.echo(f"  … and {len(plan.uids) - SHOWN:,} more; all of them with --json")
    if plan.keep:
        click.echo(safe(f"These forks keep the events they share: {', '.join(plan.keep[:SHOWN])}"))
    for path in plan.shared[:SHOWN]:
        shared = f"{short_path(path)} has other sessions too"
        click.echo(safe(f"{shared}: only the forgotten records are blanked."))
    click.echo("Not deleted:")
    for line in plan.unreachable[:SHOWN]:
        click.echo(safe(f"  {short_path(line)}"))
    if len(plan.unreachable) > SHOWN:
        click.echo(f"  … and {len(plan.unreachable) - SHOWN:,} more; all of them with --json")
