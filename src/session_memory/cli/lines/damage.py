"""Report what a command left out of its result because the store is damaged."""

from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.output import remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe

if TYPE_CHECKING:
    from session_memory.retain.rescue import Damage


def as_json(damage: "Damage") -> dict[str, Any]:
    """Return the key ``damaged`` for a JSON answer; no key if there is no damage."""
    return {"damaged": damage.to_dict()} if damage else {}


def print_damage(settings: Settings, damage: "Damage") -> None:
    """Print on stderr what is damaged and what the user can do."""
    from session_memory.core.errors import StoreDamaged

    click.secho("Damaged and left out:", fg="red", err=True)
    for line in damage.lines():
        click.secho(f"  {safe(line)}", fg="red", err=True)
    remark(settings, StoreDamaged.way_on)
