"""aider under the contract that every adapter keeps, and what its messages become."""

import time
from pathlib import Path

import pytest

from session_memory.adapters.aider import AGENT as adapter
from session_memory.adapters.local_times import local_time, zone_here
from session_memory.collect.repository_logs import repository_roots
from session_memory.config import Config, SourceConfig
from session_memory.core.schema import SessionEvent
from session_memory.store import Store
from session_memory.testing.adapters import AdapterContract
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.collecting import (
    collect,
    collected,
    events_of,
    every_usage,
    new_store,
    rebuilt,
)
from session_memory.views.files import list_files

pytestmark = pytest.mark.only("sqlite")

DATA = Path(__file__).parent.parent / "data" / "aider"
START = "\n# aider chat started at 2026-03-29 12:30:00\n\n"
NAME = ".aider.chat.history.md"


class TestRecordedSessions(AdapterContract):
    adapter = adapter
    samples = DATA / "basic" / "home"
    is_line_based = False


def history(tmp_path: Path, text: str, name: str = "app") -> Path:
    place = tmp_path / "code" / name
    place.mkdir(parents=True, exist_ok=True)
    (place / NAME).write_text(START + text)
    return tmp_path


def only_events(store: Store) -> list[SessionEvent]:
    (uid,) = store.sessions.uids()
    return events_of(store, uid)[1:]


def test_headings_and_quotations_of_an_answer_are_no_prompts_and_no_messages(
    tmp_path: Path,
) -> None:
    answer = "\nFirst.\n\n#### A heading\n\n> a quotation\n\nLast.\n\n"
    with collected(
        history(tmp_path, f"\n#### ask  \n{answer}> Tokens: 9 sent, 1 received.  \n")
    ) as s:
        assert [event.kind for event in only_events(s)] == ["user_msg", "assistant_msg"]
        (uid,) = s.sessions.uids()
        said = events_of(s, uid)[-1]
        assert said.summary == "First. #### A heading > a quotation Last."


def test_a_prompt_has_all_its_lines_and_the_next_one_is_another(tmp_path: Path) -> None:
    typed = "\n#### one  \n#### two  \n####   \n#### #### three  \n\n#### four  \n"
    with collected(history(tmp_path, typed)) as store:
        prompts = [event for event in only_events(store) if event.is_a("user_msg")]
        assert [event.summary for event in prompts] == ["one two #### three", "four"]


def test_commands_of_a_person_are_no_prompts(tmp_path: Path) -> None:
    typed = "\n#### /add a.py  \n> Added a.py to the chat  \n\n#### /ask why?  \n\n#### why?  \n"
    with collected(history(tmp_path, typed)) as store:
        assert [(event.kind, event.native_kind) for event in only_events(store)] == [
            ("lifecycle", "command//add"),
            ("lifecycle", "info"),
            ("lifecycle", "command//ask"),
            ("user_msg", "prompt"),
        ]


def test_a_message_of_several_lines_stays_one(tmp_path: Path) -> None:
    failed = "> # 1 SEARCH/REPLACE block failed to match!\n\n## Why\n> x\n\nend  \n"
    said = f"\n#### go  \n\ndone\n\n{failed}"
    shell = "> ls     \necho done  \n> Running ls  \n"
    with collected(history(tmp_path, said + shell)) as store:
        found = only_events(store)
        assert [event.kind for event in found][:3] == ["user_msg", "assistant_msg", "error"]
        assert [event.tool for event in found][-1] == "shell"
        assert "end" not in [event.summary for event in found]


def test_tokens_are_as_logged_and_the_cost_may_be_on_the_next_line(tmp_path: Path) -> None:
    one = "> Main model: gpt-4o with diff edit format  \n"
    one += "> Tokens: 2.4k sent, 31 received. Cost: $0.0064 message, $0.0064 session.  \n"
    two = "> Tokens: 39k sent, 4.0k cache write, 30k cache hit, 600 received.\n"
    two += "Cost: $0.04 message, $0.05 session.  \n"
    odd = "> Tokens: 1.2.3k sent, 99999999999999999999 received. Cost: $9.9.9 message  \n"
    with collected(history(tmp_path, one + two + odd)) as store:
        first, second, third = sorted(every_usage(store), key=lambda used: used.usage_id)
        assert (first.model, first.input_tokens, first.output_tokens) == ("gpt-4o", 2400, 31)
        assert first.reported_cost == 6400
        buckets = (second.input_tokens, second.cache_read_tokens, second.cache_write_tokens)
        assert (*buckets, second.output_tokens) == (1000, 30_000, 4000, 600)
        assert second.reported_cost == 40_000
        assert (third.input_tokens, third.output_tokens) == (0, 0)
        assert every_usage(rebuilt(store)) == every_usage(store)


def test_two_sessions_of_one_second_are_two(tmp_path: Path) -> None:
    root = history(tmp_path, f"\n#### a  \n{START}\n#### b  \n{START}\n#### c  \n")
    with collected(root) as store:
        assert store.sessions.uids() == [
            "aider:app-20260329T123000",
            "aider:app-20260329T123000.2",
            "aider:app-20260329T123000.3",
        ]


def test_a_rebuild_in_another_zone_gives_the_same_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    root = history(tmp_path, "\n#### go  \n")
    with collected(root) as store:
        (session,) = store.sessions.every()
        assert session.started_at == "2026-03-29T10:30:00.000Z"
        monkeypatch.setenv("TZ", "America/Lima")
        assert list(rebuilt(store).sessions.every())[0].started_at == session.started_at
        path = root / "code" / "app" / NAME
        path.write_text(path.read_text() + START.replace("12:30", "13:30"))
        collect(store, root)
        assert {one.started_at for one in store.sessions.every()} == {
            session.started_at,
            "2026-03-29T11:30:00.000Z",
        }


@pytest.mark.parametrize("zone", ["", "No/Such", "../../etc/passwd", "+99:99", "-05:30"])
def test_a_zone_that_is_none_is_utc(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    form = "%Y-%m-%d %H:%M:%S"
    expected = 19_800_000 if zone == "-05:30" else 0
    assert local_time("1970-01-01 00:00:00", form, zone) == expected
    assert local_time("rubbish", form, zone) is None
    monkeypatch.setenv("TZ", zone)
    assert zone_here()


def test_a_machine_whose_zone_has_no_name_has_an_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        monkeypatch.setenv("TZ", "UTC-02:30")
        time.tzset()
        zone = zone_here()
    finally:
        monkeypatch.undo()
        time.tzset()
    assert zone == "+02:30"
    assert local_time("1970-01-01 02:30:00", "%Y-%m-%d %H:%M:%S", zone) == 0


def test_histories_are_found_where_sessions_of_other_agents_worked(tmp_path: Path) -> None:
    home = history(tmp_path, "\n#### go  \n")
    repository = home / "code" / "app"
    (repository / ".git").mkdir()
    deep = repository / "src" / "deep"
    deep.mkdir(parents=True)
    (home / "code" / NAME).write_text("above the repository")
    claude = ClaudeHome(home, cwd=str(deep))
    claude.session().prompt("hi")
    claude.write()
    with new_store() as store:
        assert repository_roots(store, Config()) == []
        collect(store, home, flavor="claude")
        (found,) = repository_roots(store, Config())
        assert (found.flavor, found.path) == ("aider", repository / NAME)
        off = Config(sources={"aider": SourceConfig(enabled=False)})
        assert repository_roots(store, off) == []
        assert repository_roots(store, Config(), ("claude",)) == []


def test_an_applied_edit_is_in_the_list_of_files() -> None:
    with collected(DATA / "basic" / "home") as store:
        (row,) = list_files(store, store.sessions.every()).files
        assert (row.path, row.edits, row.sessions) == ("calc.py", 2, 1)
