"""Patterns of many sessions are kept until a session is analyzed or forgotten."""

from pathlib import Path

import pytest

from session_memory.config import Config
from session_memory.core.time import now_ms
from session_memory.learn import kept_patterns as kept
from session_memory.learn.analyze import analyze
from session_memory.learn.patterns import patterns
from session_memory.retain.forget import forget
from session_memory.store.kept_answers import KeptAnswers
from session_memory.testing.collecting import collect
from session_memory.testing.stores import Stores

from .fleets import ERROR, SyntheticFleet


def test_patterns_are_kept_until_a_session_is_analyzed_or_forgotten(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "LEAST_SESSIONS", 0)
    fleet = SyntheticFleet(tmp_path / "home")
    fleet.sessions(3, problem=ERROR)
    with stores.new() as store:
        collect(store, fleet.write())
        analyze(store)
        found = kept.kept_patterns(store)
        assert found == patterns(store) != []
        with monkeypatch.context() as nothing_is_found:
            nothing_is_found.setattr(kept, "patterns", None)
            assert kept.kept_patterns(store) == found
        # An answer that was made from older digests is not taken for a new one.
        number = KeptAnswers(store.db).number()
        fleet.sessions(2, problem=ERROR)
        collect(store, fleet.write())
        assert kept.kept_patterns(store) == found
        analyze(store)
        more = kept.kept_patterns(store)
        assert more == patterns(store) != found
        with store.db.transaction():
            KeptAnswers(store.db).put("patterns", number, 0, b"old")
        assert KeptAnswers(store.db).get("patterns") is None
        forget(store, Config(), store.sessions.uids()[:1], now_ms())
        assert store.db.all("select name from kept_answers") == []
        assert kept.kept_patterns(store) == patterns(store) != more
