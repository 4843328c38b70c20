"""``show`` says how long a session was at work: the same time as ``stats time``."""

import pytest

from session_memory.demo import demo_home
from session_memory.render.phrases import time_words
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.collecting import collect, collected, new_store
from session_memory.views.session_work import work_ms
from session_memory.views.transcript import Transcript
from session_memory.views.transcript_items import SessionStart, TranscriptOptions

from .conftest import report

# Others send a server the statements that these would send it.
pytestmark = pytest.mark.only("sqlite")


def test_the_work_of_all_sessions_is_the_work_in_the_statistics(database) -> None:
    with collected(demo_home() / ".claude") as store:
        time = report(store).sections["time"]
        work = sum(work_ms(store, uid) for uid in store.sessions.uids())
        assert work == time.model.ms + time.tools.ms > 0


def test_waiting_for_the_person_is_no_work_and_every_turn_counts(database, tmp_path) -> None:
    home = ClaudeHome(tmp_path)
    log = home.session("alpha")
    for _ in range(2):
        log.clock.tick(600_000)
        log.prompt("again")
        log.run("make", "done")
        log.answer("It is done.")
    with new_store() as store:
        collect(store, home.write())
        assert work_ms(store, "claude:alpha") == 2 * 3000
        start = next(iter(Transcript(store, TranscriptOptions()).items("claude:alpha")))
        assert isinstance(start, SessionStart)
        assert time_words(start).endswith(", 6.0 s at work")
