"""Check logs, store, permissions, disk, and what may be lost.

Shows which logs were found, which of them agents delete within a week and whether the store has
them, who can read the store, how much space is left, whether the events should be rebuilt from the
stored logs, and whether connected agents and their hooks work. The exit status is 3 with warnings,
1 if something does not work.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.failures import FAILED, PROBLEMS
from session_memory.cli.kit.output import print_json, print_lines
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import short_path
from session_memory.render.text import safe

if TYPE_CHECKING:
    from session_memory.views.doctor import Diagnosis

_STYLES: dict[str, dict[str, Any]] = {
    "ok": {"fg": "green"},
    "warn": {"fg": "yellow"},
    "bad": {"fg": "red", "bold": True},
}
_STATUS = {"ok": 0, "warn": PROBLEMS, "bad": FAILED}
SHOWN = 5


@make_command(
    examples=(
        ("doctor", "check everything"),
        ("doctor --json", "the same, for a script or a monitor"),
        ("doctor --quiet", "only warnings and errors"),
    ),
    json_shape='{"status": "ok" | "warn" | "bad", "checks": [{"name", "status", "text", "hint"},'
    ' …], "roots": [{"flavor", "path", "exists", "files", "bytes", "kept", "retention_days",'
    ' "expiring": [{"path", "bytes", "days_left", "kept"}, …], …}, …], "store": {"path",'
    ' "exists", "sessions", "bytes", "schema", "adapters", …}}; "kept" is how many files the store'
    ' has whole, or whether it has this one; "retention_days" after how many days the agent deletes'
    ' a log; "adapters": {FLAVOR: VERSION}.',
)
@click.pass_context
def command(ctx: click.Context) -> None:
    import msgspec

    from session_memory.cli.kit.install_checks import install_checks
    from session_memory.hooks.health import hook_checks

    settings: Settings = ctx.obj
    found = _examine(settings)
    diagnosis = msgspec.structs.replace(
        found, checks=[*found.checks, *install_checks(), *hook_checks()]
    )
    if settings.as_json:
        print_json(diagnosis.to_dict())
    else:
        print_lines(_lines(diagnosis, settings.quiet))
    ctx.exit(_STATUS[diagnosis.worst])


def _examine(settings: Settings) -> "Diagnosis":
    from session_memory.config import this_host
    from session_memory.core.errors import SessionMemoryError, StoreNotFound
    from session_memory.core.text import escaped
    from session_memory.views.doctor import Check, examine

    config = settings.configuration()
    where, host = settings.where(config), escaped(this_host(config))
    try:
        with settings.opened(config) as store:
            return examine(config, where, store, None, host)
    except StoreNotFound as error:
        problem = Check("store", "warn", str(error), error.hint)
    except SessionMemoryError as error:
        problem = Check("store", "bad", str(error), error.hint)
    return examine(config, where, None, problem, host)


def _lines(diagnosis: "Diagnosis", quiet: bool) -> Iterator[str]:
    checks = [check for check in diagnosis.checks if not (quiet and check.status == "ok")]
    name = max((len(check.name) for check in checks), default=0)
    for check in checks:
        status = click.style(f"{check.status:<4}", **_STYLES[check.status])
        yield f"{status}  {check.name:<{name}}  {safe(_short(check.text))}"
        if check.hint:
            yield f"{'':<4}  {'':<{name}}  hint: {safe(check.hint)}"
        if check.name.endswith("expiry") and check.status != "ok":
            yield from _at_risk(diagnosis, check.name.removesuffix(" expiry"), name + 8)


def _short(text: str) -> str:
    """Replace the home directory in ``text`` by ``~``."""
    from session_memory.config import home

    return text.replace(f"{home()}/", "~/")


def _at_risk(diagnosis: "Diagnosis", flavor: str, margin: int) -> Iterator[str]:
    files = [file for root in diagnosis.roots if root.flavor == flavor for file in root.at_risk]
    for file in files[:SHOWN]:
        yield f"{'':<{margin}}{file.days_left} days left: {safe(short_path(file.path))}"
    if len(files) > SHOWN:
        yield f"{'':<{margin}}… and {len(files) - SHOWN:,} more"
