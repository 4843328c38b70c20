"""Add one call of a skill to the skill log.

The call is read from standard input, as a JSON object. The object needs a session_id, and usually
has skill, phase, project_root, input, attempts and final_status. If it has no timestamp, the
current time is added. When the exit status is 0, the call is on disk.
"""

import json
import sys
from pathlib import Path
from typing import Any

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.skill_log_directory import directory_option, opened_log
from session_memory.render.paths import short_path

LARGEST = 200_000_000
HINT = 'Give one entry on standard input, such as {"session_id": "nightly-7", "skill": "review"}.'


@make_command(
    examples=(
        ("skill append < entry.json", "add one call of a skill"),
        ("skill append --dir ./logs < entry.json", "to a log in another directory"),
    ),
    json_shape='{"session_id", "path"}',
)
@directory_option
@click.pass_obj
def command(settings: Settings, directory: Path | None) -> None:
    from session_memory.core.errors import InvalidRecord
    from session_memory.core.schema import Entry
    from session_memory.core.time import now

    body = sys.stdin.buffer.read(LARGEST + 1)
    values = _read_entry(body)
    if "session_id" not in values:
        raise InvalidRecord("session_id is missing", HINT, field="session_id")
    entry = Entry.from_dict({"timestamp": now(), **values})
    log = opened_log(settings, directory)
    log.append(entry)
    path = log.path_of(entry.session_id)
    if settings.as_json:
        print_json({"session_id": entry.session_id, "path": str(path)})
    else:
        remark(settings, f"Added to {short_path(path)}")


def _read_entry(body: bytes) -> dict[str, Any]:
    from session_memory.core.errors import InvalidRecord

    if len(body) > LARGEST:
        raise InvalidRecord(f"the entry has more than {LARGEST:,} bytes", HINT, field="Entry")
    try:
        entry = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidRecord(f"the entry is not JSON: {error}", HINT, field="Entry") from None
    if not isinstance(entry, dict):
        raise InvalidRecord("the entry is not a JSON object", HINT, field="Entry")
    return entry
