"""Add one entry, read from standard input.

An entry is a JSON object with a session_id and, mostly, skill, phase, project_root, input,
attempts and final_status. Without a timestamp it gets the present time. It is on disk when
the command ends with status 0.
"""

import json
import sys
from pathlib import Path
from typing import Any

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json, remark, short_path
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.skill_log_directory import directory_option, opened_log


@make_command(
    examples=(
        ("skill append < entry.json", "add one call of a skill"),
        ("skill append --dir ./logs < entry.json", "to a log of your own"),
    ),
    json_shape='{"session_id", "path"}',
)
@directory_option
@click.pass_obj
def command(settings: Settings, directory: Path | None) -> None:
    from session_memory.core.schema import Entry
    from session_memory.core.time import now

    entry = Entry.from_dict({"timestamp": now(), **_told(sys.stdin.buffer.read())})
    log = opened_log(settings, directory)
    log.append(entry)
    path = log.path_of(entry.session_id)
    if settings.as_json:
        print_json({"session_id": entry.session_id, "path": str(path)})
    else:
        remark(settings, f"Added to {short_path(path)}")


def _told(body: bytes) -> dict[str, Any]:
    from session_memory.core.errors import InvalidRecord

    hint = "Give one entry, a JSON object, on standard input."
    try:
        told = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidRecord(f"the entry is no JSON: {error}", hint, field="Entry") from None
    if not isinstance(told, dict):
        raise InvalidRecord("the entry is no JSON object", hint, field="Entry")
    return told
