"""mycode's and power-loop's sessions as live ones that go on, from the real packages' own data."""

import json
import shutil
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner

from session_memory.cli import main
from session_memory.collect.live_histories import collected_history, history_at
from session_memory.core.errors import AmbiguousSession, SourceUnreadable
from session_memory.core.history import FoldStep, History, MessageStep, RewindStep
from session_memory.core.live_errors import SessionExists
from session_memory.live.import_history import import_history
from session_memory.live.store import SessionStore
from session_memory.testing.collecting import collected
from session_memory.testing.stores import Stores

# Others send a server the statements that these would send it.
pytestmark = pytest.mark.only("sqlite")

DATA = Path(__file__).parent.parent / "data"
MYCODE = {"0.4.2": "a0" * 16, "0.21.0": "b1" * 16}
ROOT = "sess_000000000000000000abc000"
RELEASES = ("0.2.0", "8.0.0", "8.0.0-async")


def mycode_session(release: str) -> Path:
    return DATA / "mycode" / release / "home" / ".mycode" / "sessions" / MYCODE[release]


def database(release: str, directory: Path) -> Path:
    db = apsw.Connection(str(directory / "kiln.db"))
    db.execute((DATA / "power_loop" / release / "database.sql").read_text())
    db.close()
    return directory / "kiln.db"


def texts(live: SessionStore, session: str) -> list[str]:
    """What the model would be sent, by its words or calls."""
    said = []
    for message in live.load_active_messages(session):
        blocks = message.content if isinstance(message.content, list) else [message.content]
        for block in blocks:
            result = block if isinstance(block, dict) else {"text": block}
            said.append(result.get("text") or result.get("id") or result.get("tool_use_id"))
    return [text for text in said if text]


@pytest.mark.parametrize("release", MYCODE)
def test_mycodes_session_goes_on_with_what_mycode_showed(stores: Stores, release: str) -> None:
    with SessionStore.open(stores.place("live"), durability="normal") as live:
        done = import_history(live, history_at(mycode_session(release)))
        assert (done.session_id, done.folds, done.rewinds) == (MYCODE[release], 1, 2)
        shown = [
            "The kiln reports its temperature.",
            *("and in Fahrenheit", "Yes.", "in Kelvin", "So be it.", "toolu_0007"),
        ]
        assert texts(live, done.session_id) == shown
        assert [call.call_id for call in live.pending(done.session_id)] == ["toolu_0007"]
        row = live.get_session(done.session_id)
        assert row is not None
        assert row.cwd == "/home/mira/code/kiln"
        assert row.metadata["imported_from"] == f"mycode:{MYCODE[release]}"
        assert live.usage_totals(done.session_id)["llm_calls"] == 8


@pytest.mark.parametrize("release", MYCODE)
def test_what_the_program_itself_showed_is_what_the_model_is_sent(
    stores: Stores, release: str
) -> None:
    visible = json.loads((DATA / "mycode" / release / "VISIBLE.json").read_text())
    last = max(n for n, m in enumerate(visible) if m["role"] == "compact" or _is_summary(m))
    after = [m for m in visible[last + 1 :] if not (m.get("meta") or {}).get("synthetic")]
    with SessionStore.open(stores.place("live"), durability="normal") as live:
        done = import_history(live, history_at(mycode_session(release)))
        context = live.load_active_messages(done.session_id)
    assert [m.content for m in context[1:]] == [m["content"] for m in after]


def _is_summary(message: dict[str, object]) -> bool:
    return "[Conversation Summary]" in json.dumps(message)


@pytest.mark.parametrize("release", RELEASES)
def test_power_loops_session_goes_on_with_its_note_where_it_belongs(
    stores: Stores, release: str, tmp_path: Path
) -> None:
    """Release 0.2 itself reloaded the note behind the answer that it precedes."""
    active = json.loads((DATA / "power_loop" / "8.0.0" / "ACTIVE.json").read_text())
    with SessionStore.open(stores.place("live"), durability="normal") as live:
        done = import_history(live, history_at(database(release, tmp_path), ROOT))
        context = live.load_active_messages(ROOT)
        row = live.get_session(ROOT)
    assert [(m.role, m.content) for m in context] == [(role, text) for _, role, text in active]
    assert (done.messages, done.folds, done.plain_notes) == (8, 1, 0)
    assert row is not None and (row.system_prompt, row.model) == ("You tend a kiln.", "mock-model")


@pytest.mark.parametrize("release", RELEASES)
def test_what_was_collected_can_be_taken_over_when_the_runtimes_data_is_gone(
    stores: Stores, release: str, tmp_path: Path
) -> None:
    path = database(release, tmp_path)
    from_file = history_at(path, ROOT)
    with collected(tmp_path, flavor="power_loop") as store:
        path.unlink()
        from_store = collected_history(store, f"power_loop:{ROOT}")
    assert from_store.steps == from_file.steps
    assert from_store.about == from_file.about


def test_a_session_is_taken_over_once(stores: Stores) -> None:
    with SessionStore.open(stores.place("live"), durability="normal") as live:
        history = history_at(mycode_session("0.21.0"))
        import_history(live, history)
        with pytest.raises(SessionExists):
            import_history(live, history)
        assert import_history(live, history, "again").session_id == "again"


def test_half_a_session_is_never_there(stores: Stores) -> None:
    history = History(
        "x:y", "torn", [MessageStep(1, {"role": "user", "content": "one"}), RewindStep(7)]
    )
    with SessionStore.open(stores.place("live"), durability="normal") as live:
        with pytest.raises(KeyError):
            import_history(live, history)
        assert live.get_session("torn") is None
        assert live.create_session(session_id="torn") == "torn"


def test_going_back_before_a_summary_shows_what_it_stood_for(stores: Stores) -> None:
    said = [MessageStep(n, {"role": "user", "content": str(n)}) for n in (1, 2)]
    steps = [*said, FoldStep(3, "both"), RewindStep(2, (3,))]
    with SessionStore.open(stores.place("live"), durability="normal") as live:
        import_history(live, History("x:y", "back", steps))
        assert texts(live, "back") == ["1", "2"]


def test_a_summary_of_what_is_gone_stands_for_itself(stores: Stores) -> None:
    steps = [
        MessageStep(1, {"role": "user", "content": "1"}),
        FoldStep(2, "of nothing", members=(9,)),
    ]
    with SessionStore.open(stores.place("live"), durability="normal") as live:
        done = import_history(live, History("x:y", "plain", steps))
        assert (done.plain_notes, texts(live, "plain")) == (1, ["1", "of nothing"])


def test_a_database_of_several_sessions_wants_to_know_which(tmp_path: Path) -> None:
    path = database("8.0.0", tmp_path)
    with pytest.raises(AmbiguousSession, match="2 sessions"):
        history_at(path)
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(SourceUnreadable):
        history_at(tmp_path / "notes.txt")


def test_the_command_begins_a_live_session(tmp_path: Path) -> None:
    place = str(tmp_path / "memory.db")
    path = database("8.0.0", tmp_path)
    items = ["import-live", str(path), "--session", ROOT, "--store", place, "--json"]
    result = CliRunner().invoke(main, items)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["messages"] == 8
    again = CliRunner().invoke(main, items)
    assert again.exit_code == 1
    hint = f"Bring it up to date: session-memory live import --all {path}."
    assert json.loads(again.stdout or again.stderr)["error"]["hint"].startswith(hint)
    with SessionStore.open(place) as live:
        live.repair(ROOT)
        live.append_message(ROOT, role="user", content="go on")
        assert texts(live, ROOT)[-1] == "go on"


# SWITCHING 2.76, 3.96
def test_the_command_imports_all_sessions_of_homes_and_databases(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(DATA / "mycode" / "0.21.0" / "home", home)
    shutil.copytree(
        DATA / "mycode" / "0.4.2" / "home" / ".mycode" / "sessions",
        home / ".mycode" / "sessions",
        dirs_exist_ok=True,
    )
    base = database("0.2.0", tmp_path)
    where = ["--store", str(tmp_path / "memory.db"), "--json"]
    items = ["import-live", "--all", str(home / ".mycode"), str(base), *where]
    first, again = (json.loads(CliRunner().invoke(main, items).stdout) for _ in range(2))
    assert (first["new"], first["unchanged"], first["failed"]) == (4, 0, [])
    assert (again["new"], again["unchanged"], again["messages"]) == (0, 4, 0)
    listed = CliRunner().invoke(main, ["sessions", "--limit", "0", *where])
    assert len(json.loads(listed.stdout)["sessions"]) == 4
    shown = CliRunner().invoke(main, ["live", "import", str(home / ".mycode"), *where])
    assert shown.exit_code == 1 and "--all" in shown.output
    both = CliRunner().invoke(main, [*items, "--id", "x"])
    assert both.exit_code == 2
    uid = CliRunner().invoke(main, ["live", "import", "mycode:x", "--session", "x", *where])
    assert uid.exit_code == 2 and "--session is for a database" in uid.output


def test_the_command_takes_a_path_relative_to_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    shutil.copytree(DATA / "mycode" / "0.21.0" / "home", home)
    (session,) = (home / ".mycode" / "sessions").iterdir()
    monkeypatch.chdir(home)
    path = str(session.relative_to(home))
    items = ["live", "import", path, "--store", str(tmp_path / "memory.db"), "--json"]
    result = CliRunner().invoke(main, items)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["session_id"] == session.name
