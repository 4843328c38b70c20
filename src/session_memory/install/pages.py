"""Make the pages of ``docs/agents``, which show what the installer writes for each agent."""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from session_memory.install.agent import (
    DEFAULT_EVENTS,
    NAME,
    AgentSetup,
    InstallPlace,
    Request,
)
from session_memory.install.agents import setups
from session_memory.install.parts import TOML, WHOLE, FileParts, Whole, put_all

MADE_BY = "<!-- Made by: make docs -->"
HOME, PROJECT = "/home/you", "/home/you/project"
WORDS = (f"{HOME}/.local/bin/{NAME}",)
MEANINGS = {
    "failure": "tells the agent what resolved the same error before",
    "end": "collects and analyzes the session",
    "prompt": "recalls an earlier session if it fits the prompt very well",
    "start": "adds a line about the tools; after a compaction, what was decided, asked and edited",
}


def agent_pages() -> dict[str, str]:
    """Return the pages of ``docs/agents`` by their paths below ``docs``, equal on any machine."""
    return {f"agents/{one.name}.md": "\n".join(_page(one)) + "\n" for one in setups()}


def _page(setup: AgentSetup) -> Iterator[str]:
    environ = {"HOME": HOME, "PATH": ""}
    user, project = InstallPlace(None, environ), InstallPlace(Path(PROJECT), environ)
    request = Request(WORDS, setup.hooks_of(DEFAULT_EVENTS))
    yield f"# Memory for {setup.title}\n\n{MADE_BY}\n"
    yield (
        f"`session-memory install {setup.name}` shows what it would change in the settings of\n"
        f"{setup.title}, asks, and writes it. `session-memory uninstall {setup.name}` restores the"
        " files.\nWith `--project` it is for one project. The program is written with its full"
        " path on your\nmachine, and with `--store` if you name another store. While it is"
        " installed, the files as they\nwere are kept in `~/.session-memory/install/before`. The"
        " installer never decides for you whether\nto trust a server, a hook or a folder.\n"
    )
    yield from _hooks(setup)
    yield "## For all your projects\n"
    files = setup.files(user, request)
    yield from _snippets(files, [])
    yield "## In one project\n"
    yield from _snippets(setup.files(project, request), files)
    advice = [*setup.advice(user, request), *setup.advice(project, request)]
    if advice:
        yield "## What you have to do\n"
        yield from (f"- {sentence}" for sentence in dict.fromkeys(advice))
        yield ""
    yield "## Good to know\n"
    yield from (f"- {sentence}" for sentence in setup.notes)
    yield ""
    yield from _plugin(setup, request)
    yield "The tools and their limits: [mcp.md](../mcp.md). The hooks: [hooks.md](../hooks.md)."


def _hooks(setup: AgentSetup) -> Iterator[str]:
    yield f"| hook | event of {setup.title} | what it does | |\n|---|---|---|---|"
    for event, own in setup.events.items():
        use = "on" if event in DEFAULT_EVENTS else f"`--hooks {event}`"
        yield f"| `{event}` | `{own}` | {MEANINGS[event]} | {use} |"
    yield ""


def _snippets(files: list[FileParts], like: list[FileParts]) -> Iterator[str]:
    """Yield each file with its content if it was empty before; one line if ``like`` has the
    same."""
    for file, other in zip_longest(files, like):
        if file is None or not file.parts:
            continue
        if other is not None and file.parts == other.parts:
            yield f"`{_short(file)}`: the same as in `{_short(other)}`.\n"
        elif file.kind == WHOLE and file.path.suffix != ".json":
            yield f"`{_short(file)}`: {_described(file)}.\n"
        else:
            text, _ = put_all(file.kind, None, file.parts, file.path)
            language = "toml" if file.kind == TOML else "json"
            yield f"`{_short(file)}`:\n\n```{language}\n{text.rstrip()}\n```\n"


def _short(file: FileParts) -> str:
    path = str(file.path)
    return path.removeprefix(f"{PROJECT}/").replace(HOME, "~")


def _described(file: FileParts) -> str:
    if file.path.suffix == ".md":
        skill = "[skill](../../src/session_memory/install/skill.py)"
        return f"the {skill} that tells the agent when to ask Session Memory"
    (part,) = file.parts
    name = part.template if isinstance(part, Whole) else ""
    return f"what [{name}](../../src/session_memory/install/agents/{name}) becomes"


def _plugin(setup: AgentSetup, request: Request) -> Iterator[str]:
    if setup.plugin is None:
        return
    yield "## As a plugin\n"
    yield "Use the plugin instead of `install`: with both, the hooks would run twice.\n"
    lines = [f"{NAME} plugin ~/{NAME}-plugins"]
    places = {"dir": f"~/{NAME}-plugins", "plugin": f"~/{NAME}-plugins/plugins/{setup.name}"}
    lines += [line.format(**places) for line in setup.plugin(request).commands]
    yield "```sh\n" + "\n".join(lines) + "\n```\n"
