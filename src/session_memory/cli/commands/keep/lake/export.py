"""Write what is new in the store to the Parquet files.

The tables are sessions/, events/ and usage/, with partitions flavor=…/month=…. All rows of a
session are in the month in which it started. Only changed partitions are written. Secrets are not
masked. The default place is lake/NAME beside the store, where NAME is the name of the store's file
without .db; for a PostgreSQL store it is below ~/.session-memory. If archive_dir is set in
[retention], the default place is the directory lake in archive_dir. Needs DuckDB and PyArrow, which
the extra "lake" of session-memory installs.
"""

from pathlib import Path

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import pasteable, short_path
from session_memory.render.text import safe
from session_memory.views.figures import plural


@make_command(
    examples=(
        ("lake export", "to the default place"),
        ("lake export --to /data/lake", "to another directory"),
    ),
    json_shape='{"sessions", "removed", "unchanged", "without_events", "partitions", "events",'
    ' "directory"}; "sessions" were written, "removed" are no longer in the store, "without_events"'
    " of the written ones were evicted (moved to the archive) before their first export.",
)
@click.option("--to", metavar="DIR", help="Write to this directory instead of the default place.")
@click.pass_obj
def command(settings: Settings, to: str | None) -> None:
    import msgspec

    from session_memory.retain import lake
    from session_memory.retain.evict import require_archive

    config = settings.configuration()
    with settings.opened(config) as store:
        place = Path(to).expanduser() if to else lake.place(store, config)
        if place is None:
            require_archive(None)
            return
        done = lake.export(store, place)
    if settings.as_json:
        print_json(msgspec.to_builtins(done))
        return
    if not settings.quiet:
        wrote = f"Wrote {plural(done.sessions, 'session')} with {plural(done.events, 'event')}"
        rest = f"{done.unchanged:,} unchanged, {done.removed:,} removed"
        click.echo(safe(f"{wrote}; {rest}. {short_path(done.directory)}"))
    if done.without_events:
        without = f"{plural(done.without_events, 'session')} evicted, without events"
        remark(settings, f"{without}. Get them back: session-memory restore --all")
    elsewhere = f" --lake {pasteable(to)}" if to else ""
    question = '"select flavor, count(*) from events group by 1"'
    remark(settings, f"Query it: session-memory lake sql {question}{elsewhere}")
