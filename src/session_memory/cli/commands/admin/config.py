"""Show the settings and where agents' logs are looked for.

With --retention, changes the configuration file.
"""

import json
from typing import TYPE_CHECKING, Any

import click
import msgspec

from session_memory.cli.kit.calling import callable_text
from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import short_path
from session_memory.render.text import safe

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE = """\
# Session Memory reads this from ~/.session-memory/config.toml, or from the file that
# SESSION_MEMORY_CONFIG names. Everything is optional: remove the # of what you want to set.

# Where the store is: a file, or a database of a PostgreSQL server (postgresql://me@host/name).
# SESSION_MEMORY_STORE and --store override this.
#store = "~/.session-memory/memory.db"

# The name of this machine in the store; by default its host name. Do not change it later: logs are
# identified by machine and path.
#host = "laptop"

# Mask passwords, keys and tokens before anything is stored. A log can then no longer be written
# back as it was.
#redact = true

# How many processes read when a sync or an analysis has much to read; by default one for each
# processor. 1: none are started. --jobs overrides this.
#jobs = 1

# For each agent: whether to collect it, where its logs are, and which paths to collect.
#[sources.claude]
#enabled = true
#roots = ["~/.claude", "/backup/old-laptop/.claude"]
#glob = "*"

# Logs not to collect from now on. What was collected before stays in the store.
#[exclude]
#paths = ["*/secret-project/*"]
#repos = ["private-notes"]

# Repositories (or working directories) that belong together. A session gets its domain when it is
# collected; session-memory store rebuild sets it for all sessions.
#[domains]
#webshop = "shop"
#"billing-*" = "finance"

# How much of the logs the store keeps (compressed bytes), and for how long. No session is evicted
# (moved to the archive) until you set after_sync or one of the first three limits. Then retention
# runs once a day after a sync. See docs/retention.md.
#[retention]
#raw_max_age_days = 45
#raw_soft_cap_bytes = 4294967296
#raw_hard_cap_bytes = 6442450944
#distilled_cap_bytes = 1073741824
#archive = true
#archive_dir = "~/.session-memory/archive/memory"
#archive_small = true
#after_sync = true

# Your own prices, in dollars for a million tokens: for a model that is not in the price table, or
# that you get for less. Names may contain * and ?. Without a price of their own, cache_read and
# cache_write cost as much as input, and cache_write_1h as much as cache_write. web_searches is the
# price of a thousand searches; fast is the factor for fast mode.
#[prices."house-model-*"]
#input = 3.0
#output = 15.0
#cache_read = 0.3

# Limits for spending, in dollars; see session-memory budget.
#[budget]
#day = 20
#month = 200

# Lessons: their folder (by default lessons/ beside the store; you may commit it), and how many
# sessions must have a pattern to accept it as a lesson, to write the lesson to a file, and to
# measure its effect (before and after).
#[lessons]
#dir = "~/code/webshop/lessons"
#promote_sessions = 2
#distribute_sessions = 3
#measure_sessions = 5
"""


@make_command(
    examples=(
        ("config", "the settings in effect"),
        ("config --example > ~/.session-memory/config.toml", "start with a commented example"),
        ("config --path", "which file is read"),
        ("config --retention on", "archive old sessions from now on, once a day after a sync"),
    ),
    json_shape='{"path", "exists", "store", "roots": [{"flavor", "path", "exists"}, …],'
    ' "settings": {"store", "host", "sources", "exclude", "domains", "redact", "jobs", "prices",'
    ' "budget", "retention", "lessons"}}; with --retention {"path", "retention"},'
    ' with --path {"path"}, with --example {"example"}. The first "store" is the store in use, that'
    ' in "settings" is what the file says.',
)
@click.option(
    "--example",
    is_flag=True,
    help="Print an example of the file, in which all settings are explained.",
)
@click.option("--path", "only_path", is_flag=True, help="Print the path of the configuration file.")
@click.option(
    "--retention",
    type=click.Choice(("on", "off")),
    help="Write to the configuration file whether retention runs once a day after a sync; on also"
    " writes the limits in effect.",
)
@click.pass_obj
def command(settings: Settings, example: bool, only_path: bool, retention: str | None) -> None:
    from session_memory.collect.discover import roots
    from session_memory.config import config_path, config_values
    from session_memory.store.address import shown
    from session_memory.views.retention import TURN_ON_RETENTION

    if example + only_path + (retention is not None) > 1:
        raise click.UsageError("give one of --example, --path and --retention")
    if example:
        print_json({"example": EXAMPLE}) if settings.as_json else click.echo(EXAMPLE, nl=False)
        return
    path = settings.config or config_path()
    if only_path:
        print_json({"path": str(path)}) if settings.as_json else click.echo(safe(str(path)))
        return
    if retention is not None:
        _switch_retention(settings, path, is_on=retention == "on")
        return
    config = settings.configuration()
    values, store = config_values(config), shown(settings.where(config))
    values["store"] = shown(config.store)
    places = roots(config)
    if settings.as_json:
        values_of_file = {"path": str(path), "exists": path.exists(), "store": store}
        found = [
            {"flavor": place.flavor, "path": str(place.path), "exists": place.exists}
            for place in places
        ]
        print_json({**values_of_file, "roots": found, "settings": values})
        return
    there = "" if path.exists() else " (does not exist: these are the defaults)"
    click.echo(safe(f"# {path}{there}"))
    for place in places:
        there = "" if place.exists else " (not there)"
        click.echo(safe(f"# {place.flavor} logs: {short_path(place.path)}{there}"))
    click.echo(_toml({**values, "store": store}))
    remark(settings, "All settings explained: session-memory config --example")
    if not config.retention.after_sync:
        remark(settings, f"Retention is off: nothing is evicted. {TURN_ON_RETENTION}")


def _switch_retention(settings: Settings, path: "Path", *, is_on: bool) -> None:
    """Turn retention on or off in the file. Turning it on also writes the limits in effect."""
    from session_memory.cli.kit.config_file import set_values
    from session_memory.config import RETENTION_LIMITS, load_config
    from session_memory.views.retention import limits_sentence

    before = load_config(path).retention
    limits = {name: getattr(before, name) for name in RETENTION_LIMITS} if is_on else {}
    set_values(path, "retention", {"after_sync": is_on, **limits})
    after = load_config(path).retention
    if settings.as_json:
        print_json({"path": str(path), "retention": msgspec.to_builtins(after)})
    elif not settings.quiet:
        click.echo(limits_sentence(after))
        click.echo(callable_text("What it would evict now: session-memory retain --dry-run"))


def _toml(values: dict[str, Any], table: str = "") -> str:
    """Return the settings as TOML: plain settings first, then tables.

    Texts, numbers and lists are written as JSON, which is valid TOML.
    """
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
