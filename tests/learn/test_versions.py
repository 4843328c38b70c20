"""Digests made by older analysis code are found, reported and made again; no others are."""

import os
from pathlib import Path

import pytest

from session_memory.config import Config
from session_memory.learn.analyze import analyze
from session_memory.learn.version import analysis_version, release_number
from session_memory.store import Store
from session_memory.store.digests import AnalysisVersion, Digests
from session_memory.testing.claude import ClaudeHome
from session_memory.views.doctor import examine
from session_memory.views.learning import show_digest, unread
from session_memory.views.outdated import outdated

from .sessions import NOW, analyzed, bodies, digest, two_timeouts

pytestmark = pytest.mark.usefixtures("everywhere")


def made_by(store: Store, version: AnalysisVersion) -> None:
    """Pretend that other code made every digest."""
    given = {"code": version.code, "release": version.release}
    with store.transaction():
        store.db.execute("update digests set analysis = :code, analysis_release = :release", given)


def older() -> AnalysisVersion:
    return AnalysisVersion("0123456789abcdef", analysis_version().release - 1)


def newer() -> AnalysisVersion:
    return AnalysisVersion("0123456789abcdef", analysis_version().release + 1)


@pytest.mark.only("sqlite")
def test_nothing_is_analyzed_again_when_nothing_changed(claude: ClaudeHome) -> None:
    with analyzed(two_timeouts(claude).write()) as store:
        assert analyze(store, now=NOW).analyzed == 0
        assert (outdated(store), unread(store)) == (0, 0)


@pytest.mark.only("sqlite")
def test_digests_of_older_code_are_made_again(claude: ClaudeHome) -> None:
    with analyzed(two_timeouts(claude).write()) as store:
        before = bodies(store)
        made_by(store, older())
        assert (outdated(store), unread(store)) == (2, 2)
        assert analyze(store, now=NOW).analyzed == 2
        assert (outdated(store), unread(store)) == (0, 0)
        assert bodies(store) == before


def test_digests_from_before_versions_were_recorded_are_made_again(claude: ClaudeHome) -> None:
    with analyzed(two_timeouts(claude).write()) as store:
        made_by(store, AnalysisVersion("", 0))
        assert analyze(store, now=NOW).analyzed == 2


def test_digests_of_a_newer_release_are_left_alone(claude: ClaudeHome) -> None:
    with analyzed(two_timeouts(claude).write()) as store:
        made_by(store, newer())
        assert (outdated(store), unread(store)) == (0, 0)
        assert analyze(store, now=NOW).analyzed == 0


@pytest.mark.parametrize("distance", [0, 1, 10**10])
def test_two_installations_with_one_store_come_to_an_end(
    claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch, distance: int
) -> None:
    ours = analysis_version()
    installations = [ours, AnalysisVersion("0123456789abcdef", ours.release + distance)]
    prices = ["table of one", "table of the other"]
    later = installations.index(max(installations, key=lambda one: (one.release, one.code)))
    with analyzed(two_timeouts(claude).write()) as store:
        done = []
        for turn in range(8):
            version, table = installations[turn % 2], prices[turn % 2]
            for module in ("analyze", "session_rows"):
                name = f"session_memory.learn.{module}.analysis_version"
                monkeypatch.setattr(name, lambda v=version: v)
            monkeypatch.setattr("session_memory.learn.analyze.prices_id", lambda _, t=table: t)
            done.append(analyze(store, now=NOW).analyzed)
        assert sum(done[2:]) == 0 and sum(done) > 0
        made = store.db.all("select distinct analysis from digests")
        assert made == [(installations[later].code,)]


@pytest.mark.only("sqlite")
def test_changed_prices_of_one_installation_are_noticed(
    claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    with analyzed(two_timeouts(claude).write()) as store:
        monkeypatch.setattr("session_memory.learn.analyze.prices_id", lambda _: "others")
        assert (analyze(store, now=NOW).analyzed, analyze(store, now=NOW).analyzed) == (2, 0)


@pytest.mark.only("sqlite")
def test_an_edited_detector_is_later_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    detector = tmp_path / "learn" / "detect" / "timeout.py"
    detector.parent.mkdir(parents=True)
    monkeypatch.setattr("session_memory.learn.version.PACKAGE", tmp_path)
    versions = []
    for second, text in ((100, "one"), (200, "two"), (200, "three")):
        detector.write_text(text)
        os.utime(detector, (second, second))
        versions.append(analysis_version.__wrapped__())
    assert versions[0].release < versions[1].release == versions[2].release
    assert len({version.code for version in versions}) == 3


def test_an_evicted_session_keeps_its_old_digest(claude: ClaudeHome) -> None:
    with analyzed(two_timeouts(claude).write()) as store:
        made_by(store, older())
        with store.transaction():
            store.db.execute("update sessions set evicted_at = 1 where uid = 'claude:one'")
        assert (outdated(store), analyze(store, now=NOW).analyzed) == (1, 1)
        assert outdated(store) == 0
        shown = show_digest(store, "claude:one")
        assert (shown.is_stored, shown.is_outdated) == (True, True)


@pytest.mark.only("sqlite")
def test_a_shown_digest_says_that_the_stored_one_is_outdated(claude: ClaudeHome) -> None:
    with analyzed(two_timeouts(claude).write()) as store:
        shown = show_digest(store, "claude:one")
        assert (shown.is_stored, shown.is_outdated) == (True, False)
        made_by(store, older())
        shown = show_digest(store, "claude:one")
        assert (shown.is_stored, shown.is_outdated) == (False, True)
        assert shown.digest == digest(store, "claude:one")


@pytest.mark.only("sqlite")
def test_doctor_reports_outdated_digests(claude: ClaudeHome, tmp_path: Path) -> None:
    with analyzed(two_timeouts(claude).write()) as store:
        made_by(store, older())
        checks = examine(Config(), str(tmp_path / "memory.db"), store, None, "here").checks
        (check,) = [check for check in checks if check.name == "analysis"]
        assert (check.status, check.text) == ("warn", "2 digests made by an older version")
        analyze(store, now=NOW)
        checks = examine(Config(), str(tmp_path / "memory.db"), store, None, "here").checks
        assert not [check for check in checks if check.name == "analysis"]


def test_the_version_is_beside_the_digest_and_not_in_it(claude: ClaudeHome) -> None:
    with analyzed(two_timeouts(claude).write()) as store:
        version = analysis_version()
        rows = store.db.all("select analysis, analysis_release from digests")
        assert rows == [(version.code, version.release)] * 2
        assert version.code.encode() not in b"".join(bodies(store).values())
        assert not Digests(store.db).is_outdated("claude:one", version)


@pytest.mark.only("sqlite")
@pytest.mark.parametrize(
    ("version", "number"), [("0.1.0", 1_000), ("1.12.3", 1_012_003), ("2.0.dev1", 2_000_001)]
)
def test_release_numbers_grow(version: str, number: int) -> None:
    assert release_number(version) == number
