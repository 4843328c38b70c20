"""What a command could not bring out of a damaged store."""

from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.output import remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe

if TYPE_CHECKING:
    from session_memory.retain.rescue import Damage


def as_json(damage: "Damage") -> dict[str, Any]:
    """The key ``damaged`` of a JSON answer; nothing if there is no damage."""
    return {"damaged": damage.to_dict()} if damage else {}


def print_damage(settings: Settings, damage: "Damage") -> None:
    """Name what is damaged on stderr, and say what to do."""
    from session_memory.core.errors import StoreDamaged

    click.secho("Damaged and left out:", fg="red", err=True)
    for line in damage.lines():
        click.secho(f"  {safe(line)}", fg="red", err=True)
    remark(settings, StoreDamaged.way_on)
