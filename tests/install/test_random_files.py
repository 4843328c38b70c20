"""Whatever the files of agents look like: installed and uninstalled, they have the same bytes."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from effort import IS_REPEATABLE, times
from random_files import some_json, some_toml

from session_memory.install import json_edit
from session_memory.install.agent import EVENTS, InstallPlace, Request
from session_memory.install.agents import NAMES, setup_of
from session_memory.install.jsonc import parse
from session_memory.install.parts import JSON, TOML, WHOLE
from session_memory.install.planning import Installer
from session_memory.install.record import InstalledAgent

WORDS = ("/opt/x y/session-memory", "--store", "/data/ü.db")


def files(*folders: Path) -> dict[str, bytes | None]:
    """Every file and directory but our own."""
    return {
        str(path): path.read_bytes() if path.is_file() else None
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if ".session-memory" not in path.parts
    }


def cases(count: int) -> Iterator[Random]:
    for seed in range(times(count)):
        yield Random(seed if IS_REPEATABLE else None)


class Machine:
    """A home and a project with random files of all agents."""

    def __init__(self, folder: Path, random: Random) -> None:
        self.random = random
        self.home, self.project = folder / "home", folder / "project"
        for place in (self.home, self.project):
            place.mkdir(parents=True)
        self.environ = {"HOME": str(self.home), "PATH": ""}
        self.installer = Installer(self.environ)
        for path, kind in self.settings():
            if kind != WHOLE and random.random() < 0.7:
                path.parent.mkdir(parents=True, exist_ok=True)
                text = some_json(random) if kind == JSON else some_toml(random)
                path.write_bytes(random.choice([text, text, text, "", "\n"]).encode())

    def settings(self) -> list[tuple[Path, str]]:
        request = Request(WORDS, EVENTS, is_complete=True)
        places = [InstallPlace(root, self.environ) for root in (None, self.project)]
        found = [
            (file.path, file.kind)
            for place in places
            for name in NAMES
            for file in setup_of(name).files(place, request)
        ]
        return sorted(set(found))

    def files(self) -> dict[str, bytes | None]:
        return files(self.home, self.project)

    def agents(self) -> list[InstalledAgent]:
        """All agents at both levels, in a random order."""
        found = [
            InstalledAgent(name, root, self.hooks(name), WORDS, self.random.random() < 0.8)
            for name in NAMES
            for root in ("", str(self.project))
        ]
        self.random.shuffle(found)
        return found

    def hooks(self, name: str) -> tuple[str, ...]:
        return setup_of(name).hooks_of(tuple(self.random.sample(EVENTS, self.random.randrange(5))))

    def install(self, *wanted: InstalledAgent) -> None:
        self.installer.carry_out(self.installer.plan(wanted))

    def uninstall(self, *keys: tuple[str, str]) -> None:
        self.installer.carry_out(self.installer.plan([], keys))


def test_all_agents_come_and_go_in_any_order(tmp_path: Path) -> None:
    for number, random in enumerate(cases(2)):
        machine = Machine(tmp_path / str(number), random)
        before, agents = machine.files(), machine.agents()
        for one in agents:
            machine.install(one)
        assert not machine.installer.plan(agents).is_change
        assert machine.files() != before
        # Other hooks than at first: what is no longer wanted goes.
        again = machine.agents()
        machine.install(*again)
        assert not machine.installer.plan(again).is_change
        keys = [one.key for one in machine.agents()]
        for key in keys[:-3]:
            machine.uninstall(key)
        machine.uninstall(*keys[-3:])
        assert machine.files() == before
        assert not machine.installer.records.path.exists()
        assert not list((machine.installer.records.directory / "before").iterdir())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_project", [False, True])
def test_what_others_change_in_between_stays(tmp_path: Path, name: str, is_project: bool) -> None:
    for number, random in enumerate(cases(2)):
        machine = Machine(tmp_path / str(number), random)
        root = str(machine.project) if is_project else ""
        before = machine.files()
        machine.install(InstalledAgent(name, root, tuple(setup_of(name).events), WORDS))
        changed = _changed_by_others(machine, before)
        machine.uninstall((name, root))
        after = machine.files()
        for path in before.keys() - changed.keys():
            assert after[path] == before[path], path
        for path, value in changed.items():
            assert _without_new(Path(path)) == value
            assert WORDS[0].encode() not in (after[path] or b"")


def _changed_by_others(machine: Machine, before: dict[str, bytes | None]) -> dict[str, object]:
    """Add a key to each file that the installation changed; the former values of these files."""
    changed: dict[str, object] = {}
    for path, kind in machine.settings():
        if kind == WHOLE or not path.exists() or path.read_bytes() == before.get(str(path)):
            continue
        text, former = path.read_bytes().decode(), (before.get(str(path)) or b"").decode()
        if kind == JSON:
            changed[str(path)] = parse(former).value if former.strip() else {}
            text = json_edit.put_member(text, ("new",), 1)[0]
        elif kind == TOML:
            changed[str(path)] = former.rstrip()
            text = text.rstrip("\r\n") + "\n[new]\n"
        path.write_bytes(text.encode())
    return changed


def _without_new(path: Path) -> object:
    text = path.read_bytes().decode()
    if path.suffix == ".toml":
        return text.rstrip().removesuffix("[new]").rstrip()
    value = dict(parse(text).value)
    assert value.pop("new") == 1
    return value


def test_a_run_that_was_killed_is_repeated_or_undone(tmp_path: Path, monkeypatch) -> None:
    class Killed(BaseException):
        pass

    for number, random in enumerate(cases(4)):
        machine = Machine(tmp_path / str(number), random)
        before, agents = machine.files(), machine.agents()
        left = [random.randrange(40)]
        rename = Path.replace

        def dying(self: Path, target: Path, left=left, rename=rename) -> Path:
            left[0] -= 1
            if left[0] == 0:
                raise Killed
            return rename(self, target)

        with monkeypatch.context() as patched, pytest.raises((Killed, StopIteration)):
            patched.setattr(Path, "replace", dying)
            machine.install(*agents)
            raise StopIteration
        if random.random() < 0.5:
            machine.install(*agents)
            assert not machine.installer.plan(agents).is_change
        machine.uninstall(*[one.key for one in agents])
        left_over = {
            path: content
            for path, content in machine.files().items()
            if not Path(path).name.endswith(".session-memory.part")
        }
        assert left_over == before


def test_files_keep_their_mode_and_links_stay_links(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "machine", Random(1))
    (machine.home / ".claude").mkdir(exist_ok=True)
    real, link = tmp_path / "dotfiles.json", machine.home / ".claude" / "settings.json"
    link.unlink(missing_ok=True)
    real.write_text("{}")
    real.chmod(0o640)
    link.symlink_to(real)
    machine.install(InstalledAgent("claude", "", ("failure",), WORDS))
    assert link.readlink() == real
    assert "hook claude failure" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640
    machine.uninstall(("claude", ""))
    assert (real.read_text(), real.stat().st_mode & 0o777) == ("{}", 0o640)
    assert link.is_symlink()
    assert machine.installer.records.directory.stat().st_mode & 0o777 == 0o700
