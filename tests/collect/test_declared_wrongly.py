"""A plugin that declares wrong things costs its own agent and is named; nobody else is stopped.

The toy is collected beside Claude Code. Its adapter is wrong in all ways that a declaration can be:
fields of a wrong type, functions that raise or return nonsense, sources that are none.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import toy
from on_a_server import cases
from toy import ToyLog, answer, called, prompt, resulted
from toy_home import CLAUDE, READING, SECRET_WORD, TOY, json_of, run, write_home

from session_memory.adapters import registry
from session_memory.adapters.agent import Agent
from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.claude import AGENT as claude
from session_memory.adapters.guarded import noted_failures
from session_memory.collect.live_histories import history_at
from session_memory.core.changes import Change
from session_memory.core.errors import AdapterFailed, SourceUnreadable
from session_memory.core.history import History
from session_memory.testing.agents import installed
from session_memory.testing.stores import Stores

pytestmark = pytest.mark.every(3)  # Its cases give a server the same statements.

HINT = "Update or remove the package"


class Unexpected(BaseException):
    """Neither an Exception nor one of Python's own."""


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def raising(error: BaseException) -> Callable[..., Any]:
    def function(*arguments: Any) -> Any:
        raise error

    return function


def late(error: BaseException, *first: Any) -> Callable[..., Any]:
    """A generator that raises after it has yielded."""

    def function(*arguments: Any) -> Iterator[Any]:
        yield from first
        raise error

    return function


def returning(value: Any) -> Callable[..., Any]:
    return lambda *arguments: value


def wrong(**fields: Any) -> Agent:
    return msgspec.structs.replace(toy.AGENT, **fields)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "home"
    write_home(place)
    monkeypatch.setenv("HOME", str(place))
    return place


def uids(where: str) -> set[str]:
    return {one["session_uid"] for one in json_of(where, "sessions")["sessions"]}


def assert_named(where: str, *parts: str) -> None:
    """``sync``, ``doctor`` and ``problems`` name the toy's adapter, with the reason."""
    checks = {check["name"]: check for check in json_of(where, "doctor")["checks"]}
    assert checks["toy adapter"]["status"] == "warn" and checks["toy adapter"]["hint"]
    reasons = [checks["toy adapter"]["text"]]
    reasons += [json_of(where, words)["adapters"]["toy"] for words in ("sync", "problems")]
    for reason in reasons:
        assert all(part in reason for part in parts), (parts, reasons)


def assert_repaired(where: str) -> None:
    with installed(claude, toy.AGENT):
        done = run(where, "sync")
        assert done.exit_code == 0 and "warning" not in done.stderr, done.output
        assert uids(where) == {CLAUDE, TOY}
        assert json_of(where, "problems") == {"problems": [], "total": 0, "reasons": {}}


# ---------------------------------------------------------------- fields

FIELDS: dict[str, tuple[dict[str, Any], str]] = {
    "version too big": ({"version": 2**70}, "version is 1180591620717411303424"),
    "version negative": ({"version": -1}, "version is -1"),
    "version zero": ({"version": 0}, "version is 0"),
    "version a text": ({"version": "1"}, "version is '1'"),
    "version a bool": ({"version": True}, "version is True"),
    "worktrees None": ({"worktrees": None}, "worktrees is None"),
    "worktrees empty text": ({"worktrees": ("",)}, "worktrees contains an empty text"),
    "directories a text": ({"directories": ".toy"}, "directories is '.toy'"),
    "directories of numbers": ({"directories": (1,)}, "directories has 1"),
    "resume command with escapes": ({"resume_command": ("a\x1b[2J",)}, "invisible characters"),
    "provider a number": ({"provider": 5}, "provider has 5"),
    "hidden kinds None": ({"hidden_kinds": None}, "hidden_kinds is None"),
    "status line a text": ({"has_statusline": "yes"}, "has_statusline is 'yes'"),
    "preamble of bytes": ({"preamble": re.compile(b"x")}, "preamble is re.compile(b'x')"),
    "roots no function": ({"roots": [Path("/")]}, "roots is [PosixPath"),
    "history no function": ({"history": 3}, "history is 3"),
    "a problem of its own": ({"problem": "out of order"}, "it reports a problem: out of order"),
}


@pytest.mark.only("sqlite")
def test_a_wrong_field_costs_its_own_agent(home: Path, stores: Stores) -> None:
    where = stores.place("memory")
    for fields, reason in FIELDS.values():
        with installed(claude, wrong(**fields)):
            assert_named(where, reason)
            assert uids(where) == {CLAUDE}
    assert_repaired(where)


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("command", ["sync", "doctor", "problems"])
def test_a_person_reads_the_name_the_reason_and_a_hint(
    command: str, home: Path, stores: Stores
) -> None:
    where = stores.place("memory")
    with installed(claude, wrong(version="1")):
        assert run(where, "sync").exit_code == 0
        done = run(where, command)
    assert "the adapter of toy failed: TypeError: version is '1'" in done.output
    assert HINT in done.output


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("field", Agent.__struct_fields__)
def test_every_field_is_checked(field: str) -> None:
    if field == "flavor":
        loaded = wrong(flavor=object())
        with installed(claude), pytest.MonkeyPatch.context() as patch:
            patch.setitem(registry.loaders(), "toy", lambda: loaded)
            assert "flavor" in registry.broken_adapters()["toy"]
        return
    with installed(claude, wrong(**{field: object()})):
        assert field in registry.broken_adapters()["toy"]
        assert [one.flavor for one in registry.agents()] == ["claude"]


@pytest.mark.only("sqlite")
def test_a_list_or_a_set_is_accepted_where_a_tuple_or_frozenset_is_meant() -> None:
    with installed(wrong(directories=[".toy"], hidden_kinds={"mode"}, instruction_files=[])):
        assert registry.broken_adapters() == {}
        assert registry.agent("toy").directories == (".toy",)
        assert registry.agent("toy").hidden_kinds == frozenset({"mode"})
        assert registry.instruction_files() == ()


@pytest.mark.only("sqlite")
def test_whatever_a_plugin_raises_when_it_is_loaded_is_its_own_failure(
    home: Path, stores: Stores
) -> None:
    where = stores.place("memory")
    errors: tuple[Any, ...] = (SystemExit(3), Unexpected("x"), Unprintable(), MemoryError())
    for error in errors:
        with installed(claude, broken={"toy": error}):
            assert_named(where, f"the adapter of toy failed: {type(error).__name__}")
            assert uids(where) == {CLAUDE}
    assert_repaired(where)


@pytest.mark.only("sqlite")
def test_an_interrupt_of_the_user_is_not_taken_for_a_failure(home: Path, stores: Stores) -> None:
    where = stores.place("memory")
    with installed(claude, wrong(discover=raising(KeyboardInterrupt()))):
        assert run(where, "sync").exit_code == 130


# ---------------------------------------------------------------- roots and sources


ROOTS: dict[str, Callable[..., Any]] = {
    "None": returning(None),
    "a text": returning("/tmp"),
    "numbers": returning([3]),
    "a NUL": returning(["/a\0b"]),
    "raising": raising(RuntimeError("boom")),
    "raising late": late(RuntimeError("boom"), Path("/nowhere")),
    "ending the program": raising(SystemExit(4)),
    "ending the program late": late(Unexpected("x")),
}


@pytest.mark.only("sqlite")
def test_wrong_roots_are_named(home: Path, stores: Stores) -> None:
    where = stores.place("memory")
    for roots in ROOTS.values():
        with installed(claude, wrong(roots=roots)):
            assert_named(where, "the adapter of toy failed in roots: ")
            assert uids(where) == {CLAUDE}
            assert run(where, "status").exit_code == 0
            assert run(where, "config").exit_code == 0
    assert_repaired(where)


@pytest.mark.only("sqlite")
def test_roots_may_be_texts(home: Path, stores: Stores) -> None:
    where = stores.place("memory")
    with installed(claude, wrong(roots=lambda environ, home: (str(home / ".toy"),))):
        assert run(where, "sync").exit_code == 0
        assert uids(where) == {CLAUDE, TOY}


def one_reference(**fields: Any) -> Callable[[Path], Iterator[Any]]:
    """A discover whose one source has these fields."""

    def discover(root: Path) -> Iterator[Any]:
        for ref in toy.discover(root):
            yield msgspec.structs.replace(ref, **fields)

    return discover


SOURCES: dict[str, Callable[..., Any]] = {
    "None": returning(None),
    "texts": returning(["one.toy"]),
    "session None": one_reference(session=None),
    "unknown role": one_reference(role="zzz"),
    "a role of our own": one_reference(role="table"),
    "role a list": one_reference(role=[]),
    "companions None": one_reference(companions=None),
    "companions texts": one_reference(companions=("a",)),
    "home path None": one_reference(home_path=None),
    "path None": one_reference(path=None),
    "relative path": one_reference(path=Path("one.toy")),
    "NUL in the path": one_reference(path="/a\0b"),
    "place a number": one_reference(at=3),
    "unlisted without path": returning([Unlisted(None, "x")]),  # type: ignore[arg-type]
    "unlisted with any reason": returning([Unlisted(Path("/toy"), object())]),  # type: ignore[arg-type]
    "unlisted with surrogates": returning([Unlisted(Path("/toy"), "\0\udc80")]),
    "raising": raising(RuntimeError("\0\udc80")),
    "raising late": late(RuntimeError("boom")),
    "ending the program": raising(SystemExit(4)),
    "ending the program late": late(SystemExit(4)),
    "unexpected": late(Unexpected("x")),
}


# What is stored of a failure differs with the texts in it: these are the odd ones.
ODD_TEXTS = ("NUL in the path", "unlisted with surrogates", "raising", "raising late")


@pytest.mark.parametrize("case", cases(sorted(SOURCES), ODD_TEXTS))
def test_wrong_sources_are_problems(case: str, home: Path, stores: Stores) -> None:
    where = stores.place("memory")
    with installed(claude, wrong(discover=SOURCES[case])):
        done = run(where, "sync")
        assert done.exit_code == 3, (done.output, done.exception)
        assert uids(where) == {CLAUDE}
        (problem,) = json_of(where, "problems")["problems"]
        assert "toy" in problem["path"] and problem["reason"] == "unreadable"
        assert run(where, "status").exit_code == 0
        if "unlisted with" not in case:
            reason = "the adapter of toy failed in discover on "
            assert problem["detail"].startswith(reason)
            assert reason in done.stderr and HINT in done.stderr
            assert reason in run(where, "doctor").stdout
        assert "1 that cannot be read" in run(where, "doctor").stdout


def test_one_wrong_source_costs_no_other(home: Path, stores: Stores) -> None:
    def discover(root: Path) -> Iterator[Any]:
        yield SourceRef(root / "bad.toy", role="zzz")
        for ref in toy.discover(root):
            yield msgspec.structs.replace(ref, path=str(ref.path))

    where = stores.place("memory")
    with installed(claude, wrong(discover=discover)):
        assert json_of(where, "sync")["failed"] == 1
        assert uids(where) == {CLAUDE, TOY}


# ---------------------------------------------------------------- optional functions

FUNCTIONS = (
    *("recognizes", "directory_fits", "keeps_days", "copies_are_resumes"),
    *("changes_asked", "changes_noted", "readable"),
)
BAD_CHANGES = [Change(path=None, action="edit")]  # type: ignore[arg-type]
NONSENSE: dict[str, Callable[..., Any]] = {
    "raise": raising(RuntimeError("broken")),
    "end the program": raising(SystemExit(4)),
    "raise something unexpected": raising(Unexpected("x")),
    "return an object": returning(object()),
    "return a number": returning(-3),
    "return a wrong list": returning(BAD_CHANGES),
    "yield and raise": late(RuntimeError("broken"), "x"),
}
# What a command about the agent itself gives. `open` and `statusline` need facts of the agent.
FACTS = (
    ("open", TOY),
    ("statusline",),
    ("lessons", "list"),
    ("config",),
    ("live", "list"),
)


def write_edits(home: Path) -> None:
    """A log that has what the optional functions are about: an edit, and a copied history."""
    edit = {**called("c2"), "kind": "edit", "marks": ["tool_call"], "tool": "edit"}
    edit |= {"path": "/w/a.py", "is_shell": False}
    edit["arguments"] = {"file_path": "/w/a.py", "old_string": "a", "new_string": "b"}
    log = ToyLog(home / ".toy" / "one.toy")
    log.add(prompt("please fix the build"), cwd="/w")
    log.add(edit)
    log.add(resulted("c2", "edited"))
    log.add(answer(f"It is {SECRET_WORD}."))
    log.write()
    copy = ToyLog(home / ".toy" / "two.toy")
    copy.lines = list(log.lines)
    copy.add(prompt("and now the docs"))
    copy.write()


def test_every_command_works_with_functions_that_fail(
    home: Path, stores: Stores, database: str
) -> None:
    write_edits(home)
    healthy = stores.place("healthy")
    commands = (("sync",), *READING, *FACTS)
    with installed(claude, wrong(resume_command=("toy",))):
        expected = {words: run(healthy, *words).exit_code for words in commands}
    assert set(expected.values()) <= {0, 3}, expected
    # The doctor warns about the toy.
    expected["doctor",] = 3
    for fault in sorted(NONSENSE) if database == "sqlite" else ("raise",):
        where = stores.place(fault)
        broken = wrong(resume_command=("toy",), **dict.fromkeys(FUNCTIONS, NONSENSE[fault]))
        with installed(claude, broken):
            done = {words: run(where, *words) for words in commands}
            failed = {
                words: one.output for words, one in done.items() if one.exit_code != expected[words]
            }
            assert not failed, (fault, failed)
            assert SECRET_WORD in run(where, "show", TOY).stdout, fault
            assert_named(where, *(f"failed in {name}: " for name in FUNCTIONS))
            assert json_of(where, "diff", TOY) == json_of(healthy, "diff", TOY), fault
        with installed(claude, toy.AGENT):
            prints = [json_of(place, "store", "fingerprint") for place in (healthy, where)]
            assert prints[0]["fingerprint"] == prints[1]["fingerprint"], fault


@pytest.mark.only("sqlite")
def test_a_command_names_the_function_that_failed(home: Path, stores: Stores) -> None:
    where = stores.place("memory")
    with installed(claude, wrong(readable=NONSENSE["raise"])):
        run(where, "sync")
    with installed(claude, wrong(readable=NONSENSE["raise"])):
        done = run(where, "show", TOY)
        assert "the adapter of toy failed in readable: RuntimeError: broken" in done.stderr
        assert HINT in done.stderr
    with installed(claude, wrong(readable=NONSENSE["raise"])):
        assert "adapter" not in run(where, "show", CLAUDE).stderr


@pytest.mark.only("sqlite")
def test_an_excluded_log_is_not_read_because_an_adapter_fails(
    home: Path, stores: Stores, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[exclude]\nrepos = ["secret"]\n')
    where = stores.place("memory")
    with installed(claude, wrong(directory_fits=NONSENSE["raise"])):
        done = run(where, "sync", "--config", str(config))
        assert done.exit_code == 3
        assert "the adapter of toy failed in directory_fits: " in done.stderr
        assert uids(where) == {CLAUDE}


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("fault", sorted(NONSENSE))
def test_a_live_session_cannot_come_from_functions_that_fail(fault: str, home: Path) -> None:
    log = home / ".toy" / "one.toy"
    history = returning(History("toy", "one", []))
    with installed(claude, wrong(log_at=NONSENSE[fault], history=history)):
        with pytest.raises(SourceUnreadable):
            history_at(log)
        assert "failed in log_at: " in noted_failures()["toy"]
    found = returning(SourceRef(log, session="one"))
    with (
        installed(claude, wrong(log_at=found, history=NONSENSE[fault])),
        pytest.raises(AdapterFailed, match="failed in history: "),
    ):
        history_at(log)
    dump = NONSENSE[fault]
    with (
        installed(claude, wrong(log_at=found, history=history, dump=dump)),
        pytest.raises(AdapterFailed, match="failed in dump: "),
    ):
        history_at(log)


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("fault", sorted(NONSENSE))
def test_histories_and_settings_that_fail_are_failures_of_their_agent(fault: str) -> None:
    with installed(claude, wrong(histories=NONSENSE[fault], settings=NONSENSE[fault])):
        agent = registry.agent("toy")
        assert agent.histories is not None and agent.settings is not None
        with pytest.raises(AdapterFailed, match="failed in histories: "):
            list(agent.histories(iter(()), []))
        assert agent.settings(Path("sessions.db")) == {}
        assert "failed in settings: " in noted_failures()["toy"]


@pytest.mark.parametrize("fault", cases(sorted(NONSENSE), ("raise",)))
def test_a_database_that_cannot_be_dumped_costs_its_file(
    fault: str, home: Path, stores: Stores
) -> None:
    where = stores.place("memory")
    with installed(claude, wrong(dump=NONSENSE[fault])):
        done = run(where, "sync")
        assert done.exit_code == 3, (done.output, done.exception)
        assert uids(where) == {CLAUDE}
        (problem,) = json_of(where, "problems")["problems"]
        assert "the adapter of toy failed in dump: " in problem["detail"]
    assert_repaired(where)
