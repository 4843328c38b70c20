"""Names that people give to sessions: shown, kept by rebuilds, exported and forgotten."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from session_memory import Memory
from session_memory.cli import main
from session_memory.config import Config
from session_memory.core.errors import InvalidRecord
from session_memory.retain.forget import forget
from session_memory.retain.portable_file import export_store
from session_memory.retain.portable_import import import_store
from session_memory.retain.verification import verify
from session_memory.search.filters import Filters
from session_memory.store import Store
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.collecting import check_index, collect, collected, new_store, rebuilt
from session_memory.testing.stores import Stores
from session_memory.views.search import search
from session_memory.views.session_titles import best_title, sessions_titled

BOTH = pytest.mark.only("sqlite", "postgresql")
pytestmark = pytest.mark.only("sqlite")
ONE, TWO = "claude:one", "claude:two"


def written(home: ClaudeHome) -> ClaudeHome:
    home.session("one").prompt("look at the webhook")
    two = home.session("two")
    two.prompt("look again")
    two.note("custom-title", customTitle="the title of the log")
    return home


def name(store: Store, uid: str, text: str | None) -> None:
    with store.transaction():
        store.given_names.set(uid, text, 1)


def titled(store: Store, words: str) -> list[str]:
    found = search(store, words, Filters(), now=1).hits
    return [one.session_uid for one in found if one.name == "title"]


@BOTH
@pytest.mark.usefixtures("on_the_database")
def test_a_name_wins_over_the_log_and_survives_syncs_and_rebuilds(claude: ClaudeHome) -> None:
    written(claude)
    with new_store() as store:
        collect(store, claude.write())
        for uid in (ONE, TWO):
            name(store, uid, "first")
            name(store, uid, f"quarantine of {uid[7:]}")
        claude.logs[-1].note("custom-title", customTitle="another title of the log")
        collect(store, claude.write())
        rebuilt(store)
        for uid in (ONE, TWO):
            session, row = store.sessions.get(uid), store.sessions.row(uid)
            assert session is not None and row is not None
            assert session.title == best_title(store, uid) == f"quarantine of {uid[7:]}"
            assert row.title != session.title
            assert sessions_titled(store, session.title) == [row.id]
        assert sorted(titled(store, "quarantine")) == [ONE, TWO]
        check_index(store)
        assert verify(store).findings == []
        name(store, TWO, None)
        assert best_title(store, TWO) == "another title of the log"
        assert titled(store, "quarantine") == [ONE] and titled(store, "another") == [TWO]
        check_index(store)
        forget(store, Config(), [ONE], 4)
        assert store.db.all("select * from given_names") == []


@BOTH
def test_an_export_has_the_names_and_an_import_overrules_nobody(
    claude: ClaudeHome, stores: Stores, tmp_path: Path
) -> None:
    written(claude).write()
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with collected(claude.path, stores.place("from")) as store:
        name(store, ONE, "mine")
        name(store, TWO, f"token {secret}")
        export_store(store, tmp_path / "all")
        export_store(store, tmp_path / "masked", [TWO], redacted=True)
    with new_store() as store:
        import_store(store, tmp_path / "masked", Config())
        (masked,) = store.given_names.every().values()
        assert masked.startswith("token ") and secret not in masked
        name(store, TWO, "called so here")
        import_store(store, tmp_path / "all", Config())
        assert store.given_names.every() == {ONE: "mine", TWO: "called so here"}
        check_index(store)
    with collected(claude.path, stores.place("to")) as store:
        # The file names a session that this machine has read from its own log.
        import_store(store, tmp_path / "all", Config())
        assert store.given_names.every() == {}


def test_python_and_the_command_name_sessions(
    claude: ClaudeHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"{tmp_path}/memory.db"
    monkeypatch.setenv("HOME", str(tmp_path))
    collected(written(claude).write(), place).close()
    with Memory(place) as memory:
        session = memory.session(ONE)
        session.set_name("  the first  ")
        assert (session.name, session.title) == ("the first", "the first")
        assert session.record.title == "the first"
        for wrong in ("two\nlines", "x" * 201):
            with pytest.raises(InvalidRecord, match="no name of a session"):
                session.set_name(wrong)
        session.set_name(" ")
        assert session.name is None

    def run(*words: str, ok: int = 0) -> dict[str, object]:
        result = CliRunner().invoke(main, [*words, "--store", place, "--json"])
        assert result.exit_code == ok, result.output
        found: dict[str, object] = json.loads(result.stdout) if not ok else {}
        return found

    named = {"session_uid": ONE, "name": "again", "title": "again"}
    assert run("name", ONE, "again") == run("name", ONE) == named
    assert run("name") == {"named": [{"session_uid": ONE, "name": "again"}], "total": 1}
    assert run("show", ONE)["session"]["title"] == "again"  # type: ignore[index]
    titles = {one["session_uid"]: one["title"] for one in run("sessions")["sessions"]}  # type: ignore[attr-defined]
    assert titles[ONE] == "again"
    assert run("name", ONE, "--reset")["name"] is None
    run("name", ONE, "x", "--reset", ok=2)
    run("name", "--reset", ok=2)
    run("name", ONE, "x" * 300, ok=1)
