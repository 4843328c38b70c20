"""``session-memory config``."""

import json
from typing import Any

import click

from session_memory.cli.command import command as declared
from session_memory.cli.output import print_json, remark, short_path
from session_memory.cli.settings import Settings
from session_memory.cli.text import safe

EXAMPLE = """\
# Session Memory reads this from ~/.session-memory/config.toml, or from the file that
# SESSION_MEMORY_CONFIG names. Everything is optional: take away the # of what you want to set.

# Where the store is: a file, or a database of a PostgreSQL server (postgresql://me@host/name).
# SESSION_MEMORY_STORE and --store win over this.
#store = "~/.session-memory/memory.db"

# What this machine is called in the store; by default its host name. Set it once: sources are
# known by machine and path.
#host = "laptop"

# Per agent: whether to read it, where its logs are, and which of their paths to take.
#[sources.claude]
#enabled = true
#roots = ["~/.claude", "/backup/old-laptop/.claude"]
#glob = "*"

# What is never read from now on; what was collected before stays.
#[exclude]
#paths = ["*/secret-project/*"]
#repos = ["private-notes"]

# Repositories (or working directories) that belong together. Sessions take their domain when they
# are collected; session-memory rebuild gives it to all of them.
#[domains]
#webshop = "shop"
#"billing-*" = "finance"
"""


@declared(
    "config",
    examples=(
        ("config", "the settings in effect"),
        ("config --example > ~/.session-memory/config.toml", "begin with a commented example"),
        ("config --path", "which file is read"),
    ),
    json_shape='{"path", "exists", "store", "roots": [{"flavor", "path", "exists"}, …],'
    ' "settings": {"store", "host", "sources", "exclude", "domains"}}',
)
@click.option("--example", is_flag=True, help="Print a commented example.")
@click.option("--path", "only_path", is_flag=True, help="Print the path of the file.")
@click.pass_obj
def command(settings: Settings, example: bool, only_path: bool) -> None:
    """Show the settings in effect."""
    from session_memory.collect.config import config_path, config_values
    from session_memory.collect.discover import roots
    from session_memory.store.address import shown

    if example:
        click.echo(EXAMPLE, nl=False)
        return
    path = settings.config or config_path()
    if only_path:
        print_json({"path": str(path)}) if settings.as_json else click.echo(safe(str(path)))
        return
    config = settings.configuration()
    values, store = config_values(config), shown(settings.where(config))
    values["store"] = shown(config.store)
    places = roots(config)
    if settings.as_json:
        told = {"path": str(path), "exists": path.exists(), "store": store}
        found = [
            {"flavor": place.flavor, "path": str(place.path), "exists": place.exists}
            for place in places
        ]
        print_json({**told, "roots": found, "settings": values})
        return
    there = "" if path.exists() else " (not there: these are the defaults)"
    click.echo(safe(f"# {path}{there}"))
    for place in places:
        there = "" if place.exists else " (not there)"
        click.echo(safe(f"# {place.flavor} logs: {short_path(place.path)}{there}"))
    click.echo(_toml({**values, "store": store}))
    remark(settings, "Every setting, explained: session-memory config --example")


def _toml(values: dict[str, Any], table: str = "") -> str:
    """Plain settings first, then tables; JSON texts, numbers and lists are TOML as well."""
    plain = [
        f"{_key(name)} = {json.dumps(value)}"
        for name, value in values.items()
        if not isinstance(value, dict)
    ]
    lines = [f"\n[{table}]", *plain] if table and plain else plain
    for name, value in values.items():
        if isinstance(value, dict) and value:
            lines.append(_toml(value, f"{table}.{_key(name)}" if table else _key(name)))
    return "\n".join(lines)


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() else json.dumps(name)
