"""Continue a session in another agent.

Writes the session as a new session of the other agent, with its prompts, answers, tool calls and
results, and prints the command that continues it. Calls become calls of the other agent's own
tools; a call for which it has no tool becomes a comment. Thinking, pictures, abandoned branches and
what subagents did are left out, and secrets are masked. The old session is not touched. The agent
must be installed here, in a version that is not newer than the newest tested one, unless you give
--any-version.
"""

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.output import print_json, print_lines, remark
from session_memory.cli.kit.settings import Settings
from session_memory.core.errors import CannotHandOver
from session_memory.render.text import safe, safe_lines

if TYPE_CHECKING:
    from session_memory.handoff import Handoff
    from session_memory.memory import Memory
    from session_memory.memory.session import StoredSession

TEXT = "text"
LIVE = "live"
LARGE = 150_000


def complete_target(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    from session_memory.handoff import targets

    return [name for name in targets() if name.startswith(begun)]


@make_command(
    examples=(
        ("handoff 5b0c6a1e --to codex", "write it for Codex, and print how to continue"),
        ("handoff 5b0c6a1e --to claude --open", "continue it in Claude Code now"),
        ("handoff 5b0c6a1e --to grok --last 5", "the last five turns whole, older ones in short"),
        ("handoff 5b0c6a1e --as text", "as one text, for any agent"),
    ),
    json_shape='{"origin", "target", "session_uid", "session", "cwd", "argv": [WORD, …], "line",'
    ' "files": [PATH, …], "prompts", "answers", "calls", "tokens", "without_tool": {TOOL: CALLS},'
    ' "images", "folded_turns", "import_argv"}; "session" is the id of the new session;'
    ' "without_tool" are calls that became comments; "images" are left out; "folded_turns" are'
    ' older turns in the summary; "import_argv" is the command that imported it, if the agent has'
    ' one. With --as text: {"text"}. With --open nothing is printed.',
)
@click.argument("session", metavar="UID", shell_complete=complete_uid)
@click.option(
    "--to", metavar="AGENT", help="The agent to continue in.", shell_complete=complete_target
)
@click.option(
    "--last",
    type=click.IntRange(1),
    metavar="N",
    help="Keep the last N turns whole. Older turns become one summary.",
)
@click.option(
    "--tokens",
    type=click.IntRange(1),
    metavar="N",
    help="Keep about the last N tokens whole, but always the last turn. Older turns become one"
    " summary.",
)
@click.option(
    "--cwd",
    type=click.Path(file_okay=False, exists=True, resolve_path=True),
    help="The directory of the new session; by default that of the old one.",
)
@click.option(
    "--as",
    "form",
    type=click.Choice([TEXT]),
    help="Print the session as one text that any agent can read, with long outputs cut.",
)
@click.option("--open", "run", is_flag=True, help="Start the agent with the new session.")
@click.option(
    "--any-version",
    is_flag=True,
    help="Write the session even if the agent is not installed here, or if its version was not"
    " tested.",
)
@click.pass_obj
def command(
    settings: Settings,
    /,
    session: str,
    to: str | None,
    form: str | None,
    run: bool,
    any_version: bool,
    **limits: Any,
) -> None:
    if (to is None) == (form is None):
        raise click.UsageError("give one of --to AGENT and --as text")
    if to is None and (run or any_version):
        raise click.UsageError(f"{'--open' if run else '--any-version'} needs --to AGENT")
    with settings.memory() as memory:
        stored = _stored(memory, session)
        if to is None:
            _print_text(settings, stored.handoff_text(**limits))
            return
        if run:
            _check_directory(limits["cwd"] or stored.record.cwd)
        handoff = stored.handoff(to, any_version=any_version, **limits)
    if run:
        _run(handoff)
    if settings.as_json:
        print_json(handoff.to_dict())
        return
    click.echo(safe(handoff.line))
    for line in _remarks(handoff, limits):
        remark(settings, line)


def _stored(memory: "Memory", text: str) -> "StoredSession":
    """Return the session. A live session is first collected up to its last message."""
    from session_memory.core.errors import UnknownSession

    try:
        stored = memory.session(text)
    except UnknownSession:
        # It may be a live session that no sync has read yet.
        return _after_sync(memory, text)
    return _after_sync(memory, text) if stored.flavor == LIVE else stored


def _after_sync(memory: "Memory", text: str) -> "StoredSession":
    """Collect all live sessions, then return the session."""
    memory.sync(flavors=LIVE, retain=False)
    return memory.session(text)


def _print_text(settings: Settings, text: str) -> None:
    if settings.as_json:
        print_json({"text": text})
    else:
        print_lines(safe_lines(text.rstrip("\n")))


def _remarks(handoff: "Handoff", limits: dict[str, Any]) -> list[str]:
    from session_memory.views.figures import plural

    calls, turns = plural(handoff.calls, "call"), plural(handoff.prompts, "prompt")
    lines = [f"Handed over: {turns} and {calls}, about {handoff.tokens:,} tokens."]
    if handoff.folded_turns:
        lines.append(f"{plural(handoff.folded_turns, 'older turn')} in short.")
    elif handoff.tokens > LARGE and not any((limits["last"], limits["tokens"])):
        lines.append("That may be too much for a model. Keep the newest part: --tokens 100000")
    if handoff.without_tool:
        names = ", ".join(f"{name} {count}" for name, count in handoff.without_tool.items())
        lines.append(f"{handoff.target} has no tool for these, they became comments: {names}")
    if handoff.images:
        lines.append(f"{plural(handoff.images, 'picture')} left out.")
    if not Path(handoff.cwd).is_dir():
        lines.append(
            f"The directory does not exist: {handoff.cwd}. Name another one: --cwd DIRECTORY"
        )
    return lines


def _check_directory(cwd: str | None) -> None:
    """Raise if the agent cannot be started there: before the new session is written."""
    if cwd is not None and not Path(cwd).is_dir():
        hint = "Name the directory to continue in: --cwd DIRECTORY"
        raise CannotHandOver(f"the directory {cwd} does not exist", hint)


def _run(handoff: "Handoff") -> None:
    """Start the agent, and exit with its exit status."""
    try:
        done = subprocess.run(handoff.argv, cwd=handoff.cwd, check=False)
    except FileNotFoundError:
        hint = f"Install it, or add it to the PATH. Then: {handoff.line}"
        raise CannotHandOver(f"{handoff.argv[0]} cannot be started there", hint) from None
    raise click.exceptions.Exit(done.returncode if done.returncode >= 0 else 1)
