"""A first load that is stopped by Ctrl-C keeps what it had written."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from on_a_server import cases

from session_memory.collect import batches
from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.collect.sync_report import ReadProgress
from session_memory.config import Config
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.collecting import check_sound, collected, new_store

SESSIONS = 12


@pytest.fixture
def home(claude: ClaudeHome, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A chunk for each session: small ones are written together."""
    monkeypatch.setattr(batches, "FIRST_LOAD_BYTES", 1)
    for number in range(SESSIONS):
        log = claude.session(f"session-{number:02d}")
        log.prompt(f"task {number}")
        log.answer("done")
    return claude.write()


@pytest.fixture(autouse=True)
def as_from_a_terminal() -> Iterator[None]:
    """A shell that starts something in the background has it ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Interrupting(ReadProgress):
    """Presses Ctrl-C after so many sources."""

    def __init__(self, after: int) -> None:
        self._left = after

    def advance(self, size: int) -> None:
        self._left -= 1
        if not self._left:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("after", cases((1, 2, 7, SESSIONS), (1, 7)))
def test_what_was_written_stays_and_the_next_run_goes_on(
    after: int, home: Path, database: str
) -> None:
    with new_store() as store:
        with pytest.raises(KeyboardInterrupt):
            sync(
                store,
                Config(),
                roots(Config(), (home,), ("claude",)),
                host="here",
                progress=Interrupting(after),
            )
        kept = store.sessions.count()
        assert after - 1 <= kept <= SESSIONS
        report = sync(store, Config(), roots(Config(), (home,), ("claude",)), host="here").report
        assert report.unchanged == kept
        assert report.ingested == SESSIONS - kept
        check_sound(store)
        with collected(home) as whole:
            assert store.fingerprint() == whole.fingerprint()
