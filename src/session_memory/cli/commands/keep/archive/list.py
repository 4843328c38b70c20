"""List the files of the archive and what each contains."""

from typing import Any

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import (
    Column,
    print_json,
    print_lines,
    remark,
    table,
    terminal_width,
)
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import short_path
from session_memory.views.figures import local, plural, size


@make_command(
    examples=(
        ("archive list", "the files of the archive"),
        ("archive list --json", "with the sessions in each file"),
    ),
    json_shape='{"directory", "files": [{"file", "archived_at", "bytes", "sources", "sessions":'
    " [UID, …]}, …]}",
)
@click.pass_obj
def command(settings: Settings) -> None:
    from session_memory.derive.evicted import archive_of
    from session_memory.retain.evict import require_archive

    config = settings.configuration()
    with settings.opened(config) as store:
        archive = require_archive(archive_of(store, config))
    files: list[dict[str, Any]] = []
    for file in archive.files():
        manifest = archive.manifest(file)
        held = manifest.sources
        files.append(
            {
                "file": file.name,
                "archived_at": manifest.archived_at,
                "bytes": file.stat().st_size,
                "sources": len(held),
                "sessions": sorted({uid for one in held for uid in one.sessions}),
            }
        )
    if settings.as_json:
        print_json({"directory": str(archive.directory), "files": files})
        return
    titles = ("file", "archived", "size", "sources", "sessions")
    columns = [Column(title, right=place > 1) for place, title in enumerate(titles)]
    if files:
        print_lines(table(columns, map(_row, files), terminal_width()))
    remark(settings, f"{plural(len(files), 'file')} in {short_path(archive.directory)}")


def _row(one: dict[str, Any]) -> list[str]:
    counts = f"{one['sources']:,}", f"{len(one['sessions']):,}"
    return [one["file"], local(one["archived_at"]), size(one["bytes"]), *counts]
