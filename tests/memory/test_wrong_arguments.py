"""Every parameter of every public method, with wrong types and values.

The answer is right, or an error of ours with a hint. No exception of a library gets through, and no
misspelled name gives an empty answer.
"""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from click.testing import CliRunner
from effort import EFFORT

from session_memory import AsyncMemory, Memory, SessionMemoryError, StoredSession
from session_memory.cli import main
from session_memory.core.errors import ConfigError, InvalidRecord
from session_memory.demo import demo_home
from session_memory.memory.arguments import SessionFilters, UsageFilters, WorkFilters
from session_memory.testing.stores import Stores

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

WRONG: tuple[Any, ...] = (
    5,
    -1,
    10**30,
    2.5,
    float("nan"),
    True,
    b"bytes",
    "",
    " ",
    "zz-no-such-thing",
    "%",
    "[",
    "a\0b",
    "\udc80",
    "x" * 5000,
    [5],
    [None],
    ["zz-no-such-thing"],
    {"a": 1},
    object(),
    Path("nowhere/at/all"),
)
# Numbers and texts, which a server may take otherwise than SQLite does.
FOR_A_SERVER: tuple[Any, ...] = (
    5,
    10**30,
    "zz-no-such-thing",
    "%",
    "a\0b",
    "\udc80",
    ["zz-no-such-thing"],
)
KEYWORDS = {"cost": UsageFilters, "prices": UsageFilters, "stats": WorkFilters}
KEYWORDS |= {"files": SessionFilters, "commands": SessionFilters}
NEEDED: dict[str, dict[str, Any]] = {
    "search": {"text": "test"},
    "search_sessions": {"text": "test"},
    "fix": {"error": "TypeError: x"},
    "how": {"task": "tests"},
    "why": {"path": __file__},
    "why_commit": {"name": "HEAD", "directory": "nowhere/at/all"},
    "handoff": {"to": "pi"},
    "sync": {"roots": [], "dry_run": True},
    "follow": {"roots": []},
    "retain": {"dry_run": True},
}
# Methods whose parameters mean something else.
APART = {"open", "close"}


def methods(kind: type) -> Iterator[tuple[str, str]]:
    """Every method with each of its parameters."""
    for name, function in inspect.getmembers(kind, inspect.isfunction):
        if name.startswith("_") or name in APART:
            continue
        keywords = getattr(KEYWORDS.get(name), "__annotations__", {})
        parameters = [
            one.name
            for one in list(inspect.signature(function).parameters.values())[1:]
            if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        ]
        yield from ((name, one) for one in (*parameters, *keywords))


def exhausted(answer: Any) -> Any:
    """What is read when it is asked for is read."""
    if isinstance(answer, Iterator) and not hasattr(answer, "stop"):
        return list(answer)
    if hasattr(answer, "stop"):
        answer.close()
    elif hasattr(answer, "listing"):
        answer.listing()
        answer.count()
    return answer


def fine(ask: Callable[[], Any], what: str) -> None:
    try:
        exhausted(ask())
    except SessionMemoryError as error:
        assert error.hint, f"{what}: {error!r} has no hint"
    except Exception as error:
        raise AssertionError(f"{what}: {error!r}") from error


@pytest.fixture(autouse=True)
def in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "here"
    directory.mkdir()
    monkeypatch.chdir(directory)


def needed(name: str, parameter: str, uid: str, place: Path) -> dict[str, Any]:
    given = {"session": {"uid": uid}, "similar": {"session": uid}}
    given["transcripts"] = {"sessions": uid, "format": "jsonl"}
    given["export"] = {"target": place / f"{parameter}.out", "sessions": uid, "format": "jsonl"}
    given["backup"] = {"target": place / "copy.db"}
    given["text"] = given["payload"] = {}
    return dict({**NEEDED, **given}.get(name, {}))


@pytest.fixture
def wrong(database: str) -> tuple[Any, ...]:
    return WRONG if database == "sqlite" or EFFORT > 1 else FOR_A_SERVER


@BOTH
def test_every_parameter_of_a_memory(
    filled: str | Path, tmp_path: Path, wrong: tuple[Any, ...]
) -> None:
    with Memory(filled) as memory:
        uid = next(iter(memory.sessions())).uid
        pairs = list(methods(Memory))
        assert len(pairs) > 100
        for name, parameter in pairs:
            for value in wrong:
                if name == "backup" and isinstance(value, str) and value.strip():
                    continue
                given = {**needed(name, parameter, uid, tmp_path), parameter: value}
                what = f"{name}({parameter}={value!r:.60})"
                fine(lambda name=name, given=given: getattr(memory, name)(**given), what)


@BOTH
def test_every_parameter_of_a_session(filled: str | Path, wrong: tuple[Any, ...]) -> None:
    with Memory(filled) as memory:
        session = next(one for one in memory.sessions() if one.children)
        event = next(iter(session.events))
        for name, parameter in methods(StoredSession):
            for value in wrong:
                given = {**NEEDED.get(name, {}), parameter: value}
                what = f"{name}({parameter}={value!r:.60})"
                fine(lambda name=name, given=given: getattr(session, name)(**given), what)
        for value in wrong:
            fine(lambda value=value: session.events.of_kind(value), f"of_kind({value!r:.60})")
        assert session.text(event) is not None


@pytest.mark.only("sqlite")
def test_every_way_to_open_a_memory(filled: str | Path, tmp_path: Path) -> None:
    for value in WRONG:
        if isinstance(value, str) and value.strip() and value[0] in "z%[":
            continue  # The name of a file, which is created.
        fine(lambda value=value: Memory(value).close(), f"Memory({value!r:.60})")
    for value in WRONG:
        for name in ("config", "create", "durability"):
            with Memory(filled) if name == "nothing" else _opened(filled, name, value) as memory:
                if memory is not None:
                    fine(memory.budget, f"Memory({name}={value!r:.60})")


class _opened:
    """The memory, or None if opening it was refused with an error of ours."""

    def __init__(self, place: str | Path, name: str, value: Any) -> None:
        self.memory: Memory | None = None
        try:
            self.memory = Memory(place, **{name: value})
        except SessionMemoryError as error:
            assert error.hint, f"Memory({name}={value!r:.60}): {error!r}"

    def __enter__(self) -> Memory | None:
        return self.memory

    def __exit__(self, *failure: object) -> None:
        if self.memory is not None:
            self.memory.close()


@pytest.mark.only("sqlite")
def test_asyncio_gives_the_same_errors(filled: str | Path) -> None:
    async def ask() -> None:
        async with await AsyncMemory.open(filled) as memory:
            for refused in (
                memory.verify(sample=-1),
                memory.search(text=5),  # type: ignore[arg-type]
                memory.cost(by="year"),
                memory.export("nowhere/at/all.html", "x" * 40, format="html"),
                memory.lessons(status="good"),
            ):
                with pytest.raises(SessionMemoryError) as error:
                    await refused
                assert error.value.hint

    asyncio.run(ask())


# ---------------------------------------------------------------- what was found


def test_names_that_do_not_exist_are_refused_with_those_that_do(filled: str | Path) -> None:
    with Memory(filled) as memory:
        session = next(iter(memory.sessions()))
        for ask, known in (
            (lambda: memory.sessions(outcome="good"), "continued, fail, success, unknown"),
            (lambda: memory.sessions(flavor="cluade"), "claude"),
            (lambda: memory.sessions(flavor="zz*"), "claude"),
            (lambda: memory.cost(flavor="cluade"), "claude"),
            (lambda: memory.stats(flavor="cluade"), "claude"),
            (lambda: memory.files(flavor="cluade"), "claude"),
            (lambda: memory.commands(flavor="cluade"), "claude"),
            (lambda: memory.sources(flavor="cluade"), "claude"),
            (lambda: memory.sources(role="logs"), "log, timeline, document, spill"),
            (lambda: memory.sources(state="new"), "read, behind, gone, old, evicted"),
            (lambda: memory.search("test", flavor="cluade"), "claude"),
            (lambda: memory.search("test", outcome="good"), "abandoned"),
            (lambda: memory.search("test kind:erorr"), "error"),
            (lambda: memory.search("test", kind="erorr"), "error"),
            (lambda: memory.patterns(type="recuring_error"), "recurring_error"),
            (lambda: memory.patterns(polarity="bad"), "problem, success"),
            (lambda: memory.lessons(status="open"), "accepted, rejected, merged"),
            (lambda: memory.problems(reason="bad"), ""),
            (lambda: session.transcript(kinds="erorr"), "error"),
            (lambda: session.view(kinds="erorr"), "error"),
            (lambda: session.events.of_kind("erorr"), "error"),
            (lambda: memory.cost(repos="webshop"), "repo"),  # type: ignore[call-arg]
        ):
            with pytest.raises(InvalidRecord, match="^unknown ") as refused:
                ask()
            assert (refused.value.hint or "").startswith("Choose one of:")
            assert known in (refused.value.hint or "")
        with pytest.raises(InvalidRecord, match="since: cannot be excluded") as refused:
            memory.search("test -since:7d")
        assert "-repo:" in (refused.value.hint or "")


@pytest.mark.only("sqlite")
@pytest.mark.parametrize(
    "words",
    [
        "sessions --outcome good",
        "sessions --flavor cluade",
        "cost --flavor cluade",
        "stats --flavor cluade",
        "files --flavor cluade",
        "commands --flavor cluade",
        "sources --flavor cluade",
        "sources --role logs",
        "search test --flavor cluade",
        "search test --outcome good",
        "search test outcome:good",
        "search --kind erorr",
        "patterns --type recuring_error",
        "problems --reason bad",
        "lessons list --status open",
        "secrets --flavor cluade",
        "train stats --flavor cluade",
        "show SESSION --kind erorr",
        "sync --flavor cluade",
    ],
)
def test_the_command_line_refuses_them_too(filled: str | Path, words: str) -> None:
    with Memory(filled) as memory:
        uid = next(iter(memory.sessions())).uid
    typed = words.replace("SESSION", uid).split()
    done = CliRunner().invoke(main, [*typed, "--store", str(filled)])
    assert done.exit_code in (1, 2), done.output
    assert "hint: " in done.stderr and typed[-1].rpartition(":")[2] in done.stderr


def test_a_root_may_be_one_path(stores: Stores, tmp_path: Path) -> None:
    with Memory(stores.place("memory")) as memory:
        one = memory.sync(str(demo_home()), dry_run=True)
        assert one.discovered == memory.sync([demo_home()], dry_run=True).discovered > 0
        with memory.follow(demo_home()) as follow:
            assert type(next(follow)).__name__ == "Started"
        with pytest.raises(SessionMemoryError, match="nowhere"):
            memory.sync("nowhere")


@pytest.mark.only("sqlite")
def test_settings_of_an_unknown_agent_are_refused(stores: Stores, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[sources.cluade]\nenabled = false\n")
    with Memory(stores.place("memory"), file) as memory:
        for use in (lambda: memory.sync(demo_home()), lambda: memory.follow(demo_home())):
            with pytest.raises(ConfigError, match="sources.cluade") as refused:
                use()
            assert "claude" in (refused.value.hint or "")
        assert memory.sessions().count() == 0


def test_an_empty_list_of_sessions_is_not_all_of_them(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        memory.sync_demo()
        assert memory.analyze([]).analyzed == 0
        assert memory.export(tmp_path / "none.smx", []).sources == 0
        assert memory.analyze().analyzed > 0
        assert (memory.export(tmp_path / "all.smx").sources or 0) > 0


@pytest.mark.only("sqlite")
def test_a_file_that_cannot_be_written_is_an_error_of_ours(filled: str | Path) -> None:
    with Memory(filled) as memory:
        uid = next(iter(memory.sessions())).uid
        Path("file").touch()
        for target in ("nowhere/x.html", "file/x.html", ".", "file"):
            for kind in ("html", "portable"):
                with pytest.raises(SessionMemoryError) as refused:
                    memory.export(target, uid, format=kind)
                assert refused.value.hint, target
        for target in ("file/copy.db", ".", "file"):
            with pytest.raises(SessionMemoryError) as refused:
                memory.backup(target)
            assert refused.value.hint


def test_the_types_of_the_filters_are_known() -> None:
    # The test above relies on them.
    assert set(get_type_hints(SessionFilters)) > set(get_type_hints(WorkFilters))
