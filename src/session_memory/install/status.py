"""Report what is installed in each agent, from the agents' files and not from our record."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from session_memory.install.agent import EVENTS, AgentSetup, Request
from session_memory.install.agents import setups
from session_memory.install.errors import InstallError
from session_memory.install.parts import Hook, Whole, read_values
from session_memory.install.planning import Installer
from session_memory.install.record import InstalledAgent
from session_memory.install.target_file import read_text

USER, PROJECT = "user", "project"
_CONSTANT = r"\b{} = (\[.*\]);"


class InstallStatus(msgspec.Struct, frozen=True):
    """The status of one agent, for the user or in one project (``root``).

    ``server`` is the file with the MCP server, ``program`` the program that it starts, and
    ``outdated`` are the files that a new installation would change.
    """

    agent: str
    title: str
    here: bool
    level: str
    root: str | None
    installed: bool
    hooks: list[str]
    server: str | None
    program: str | None
    program_exists: bool | None
    outdated: list[str]
    problem: str | None = None


def statuses(installer: Installer, words: Sequence[str], root: str) -> list[InstallStatus]:
    """Return the status of all agents for the user, and of those installed in the project
    ``root``."""
    found = _level(installer, words, "")
    if root:
        found += [one for one in _level(installer, words, root) if one.installed or one.problem]
    return found


def recorded_statuses(installer: Installer, words: Sequence[str]) -> list[InstallStatus]:
    """Return the status of the agents that our command installed: for the user, and in all projects
    that still exist."""
    recorded = [one.key for one in installer.records.read().agents]
    roots = {root for _, root in recorded if not root or Path(root).is_dir()}
    found = {(one.agent, root): one for root in roots for one in _level(installer, words, root)}
    return [found[key] for key in recorded if key in found]


def _level(installer: Installer, words: Sequence[str], root: str) -> list[InstallStatus]:
    found = {one.name: _status(installer, one, words, root) for one in setups()}
    for setup in setups():
        mine = found[setup.name]
        for other in (found[name] for name in setup.reads):
            if mine.installed and mine.server is None and other.server is not None:
                values = {"server": other.server, "program": other.program}
                exists = other.program_exists
                mine = msgspec.structs.replace(mine, **values, program_exists=exists)
                found[setup.name] = mine
    return list(found.values())


def _status(
    installer: Installer, setup: AgentSetup, words: Sequence[str], root: str
) -> InstallStatus:
    place = installer.place(root)
    seen = _InstalledParts(setup.name)
    problem = None
    try:
        for file in setup.files(place, Request(("session-memory",), EVENTS, is_complete=True)):
            if file.path.name != "SKILL.md":
                values = read_values(file.kind, read_text(file.path), file.path)
                for part in file.parts:
                    seen.look(file.path, part, part.any_in(values))
    except InstallError as error:
        problem = str(error)
    outdated = [] if problem or not seen.is_there else _outdated(installer, seen, words, root)
    return InstallStatus(
        agent=setup.name,
        title=setup.title,
        here=setup.is_here(place),
        level=PROJECT if root else USER,
        root=root or None,
        installed=seen.is_there,
        hooks=[event for event in setup.events if event in seen.hooks],
        server=None if seen.server is None else str(seen.server),
        program=seen.program,
        program_exists=None if seen.program is None else Path(seen.program).is_file(),
        outdated=outdated,
        problem=problem,
    )


class _InstalledParts:
    """The hooks, the server and the program that were found in the files of one agent."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.hooks: set[str] = set()
        self.server: Path | None = None
        self.program: str | None = None

    @property
    def is_there(self) -> bool:
        return bool(self.hooks) or self.server is not None

    def look(self, path: Path, part: Any, found: Any) -> None:
        if found is None:
            return
        if isinstance(part, Hook):
            self.hooks.add(part.call.rpartition(" ")[2])
        elif isinstance(part, Whole):
            self._look_at_text(path, found)
        else:
            self.server = path
            command = found.get("command") if isinstance(found, dict) else None
            first = command[0] if isinstance(command, list) and command else command
            self.program = first if isinstance(first, str) else None

    def _look_at_text(self, path: Path, text: str) -> None:
        self.hooks.update(re.findall(rf"\bhook {self.agent} ([a-z]+)", text))
        for name in re.findall(_CONSTANT.format("EVENTS"), text):
            self.hooks.update(json.loads(name))
        if re.search(_CONSTANT.format("TOOLS"), text):
            self.server = path
            command = re.search(_CONSTANT.format("COMMAND"), text)
            self.program = json.loads(command[1])[0] if command else None


def _outdated(
    installer: Installer, seen: _InstalledParts, words: Sequence[str], root: str
) -> list[str]:
    """The files that would change if the agent was installed again with the same hooks."""
    recorded = {one.key: one for one in installer.records.read().agents}
    known = recorded.get((seen.agent, root))
    hooks = tuple(event for event in EVENTS if event in seen.hooks)
    # Options such as --store stay as they were chosen.
    request = Request(tuple(words))
    again = (*request.program, *(Request(known.words).options if known else request.options))
    one = InstalledAgent(
        seen.agent,
        root,
        hooks,
        again,
        skill=known is not None and known.skill,
        through_server=known is not None and known.through_server,
    )
    mine = {file.path for file in installer.files(one)}
    plan = installer.plan([one])
    return [str(change.path) for change in plan.changes if change.is_change and change.path in mine]
