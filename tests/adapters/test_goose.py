"""goose: its database, messages that are written again, sums of usage, logs of old releases."""

import json
from pathlib import Path
from typing import Any

import pytest
from goose_home import NEWER_TABLES, GooseHome, a_session, answered, asked, said

from session_memory.adapters.goose import AGENT
from session_memory.core.schema import SessionEvent
from session_memory.retain.native_files import restore_native
from session_memory.store import Store
from session_memory.testing.adapters import AdapterContract
from session_memory.testing.collecting import (
    check_sound,
    collect,
    collected,
    events_of,
    every_usage,
    new_store,
    rebuilt,
)

pytestmark = pytest.mark.only("sqlite")

UID = "goose:20260403_1"


class TestGoose(AdapterContract):
    adapter = AGENT
    samples = Path(__file__).parent.parent / "data" / "goose"


@pytest.fixture
def made(tmp_path: Path) -> GooseHome:
    return GooseHome(tmp_path / "home")


def events(store: Store, uid: str = UID) -> list[SessionEvent]:
    return events_of(store, uid)


def test_a_session_gives_prompts_calls_results_answers_and_usage(made: GooseHome) -> None:
    a_session(made)
    made.close()
    with collected(made.home) as store:
        assert [(e.kind, e.call_id, e.exit_code) for e in events(store)] == [
            ("user_msg", None, None),
            ("thinking", None, None),
            ("test_run", "c1", None),
            ("error", "c1", 1),
            ("edit", "c2", None),
            ("tool_result", "c2", None),
            ("assistant_msg", None, None),
        ]
        assert events(store)[-1].is_a("completion")
        session = store.sessions.get(UID)
        assert session is not None
        assert (session.cwd, session.title) == ("/home/mira/app", "Mend it")
        [usage] = every_usage(store)
        assert (usage.model, usage.input_tokens, usage.output_tokens) == ("gpt-5", 1000, 20)
        check_sound(store)


def test_sums_that_grow_count_once(made: GooseHome) -> None:
    session = made.session()
    with new_store() as store:
        for number in range(1, 4):
            made.message(session, "user", said(f"prompt {number}"))
            made.message(session, "assistant", said(f"answer {number}"))
            made.use(session, 100, 10)
            collect(store, made.home)
            assert [(u.input_tokens, u.output_tokens) for u in every_usage(store)] == [
                (100 * number, 10 * number)
            ]
            found = store.sessions.get(UID)
            assert found is not None and found.cost.input_tokens == 100 * number
        with collected(made.home) as once:
            assert [e.event_uid for e in events(store)] == [e.event_uid for e in events(once)]
        check_sound(store)
        before = store.fingerprint()
        assert rebuilt(store).fingerprint() == before
    made.close()


def test_messages_that_are_written_again_are_the_same(made: GooseHome) -> None:
    session = a_session(made)
    with collected(made.home) as store:
        before = [e.event_uid for e in events(store)]
        made.message(session, "user", said("a summary of all that"), userVisible=False)
        made.write_again(session)
        made.message(session, "user", said("go on"))
        collect(store, made.home)
        assert [e.event_uid for e in events(store)][: len(before)] == before
        assert [(e.kind, e.summary) for e in events(store)[len(before) :]] == [
            ("lifecycle", "a summary of all that"),
            ("user_msg", "go on"),
        ]
        assert store.problems.count() == 0
        check_sound(store)
    made.close()


@pytest.mark.parametrize(
    ("response", "is_refused"),
    [
        (answered("c1", "The user has declined to run this tool. DO NOT call it again"), True),
        (
            {
                "type": "toolResponse",
                "id": "c1",
                "toolResult": {"status": "error", "error": "Interrupted by the user to make a …"},
            },
            True,
        ),
        (answered("c1", "boom", isError=True), False),
    ],
)
def test_a_call_that_did_not_work_is_an_error(
    made: GooseHome, response: dict[str, Any], is_refused: bool
) -> None:
    session = made.session()
    made.message(session, "assistant", asked("c1", "developer__shell", command="rm -r x"))
    made.message(session, "user", response)
    made.close()
    with collected(made.home) as store:
        last = events(store)[-1]
        assert last.is_error and last.is_a("human_intervention") == is_refused


def test_the_prompt_of_a_subagent_is_nobodys(made: GooseHome) -> None:
    session = made.session(kind="sub_agent")
    made.message(session, "user", said("count the lines"))
    made.close()
    with collected(made.home) as store:
        assert [e.kind for e in events(store)] == ["lifecycle"]


def counts(store: Store) -> list[tuple[str, int, int, int, int]]:
    return [
        (
            one.model,
            one.input_tokens,
            one.output_tokens,
            one.cache_read_tokens,
            one.cache_write_tokens,
        )
        for one in sorted(every_usage(store), key=lambda one: one.usage_id)
    ]


def test_each_request_in_the_ledger_counts_for_its_model(made: GooseHome) -> None:
    made.db.execute(NEWER_TABLES)
    session = made.session()
    made.message(session, "user", said("go"))
    made.request(session, "gpt-5", sent=100, given=7, read=60, written=10)
    made.request(session, "gpt-5-mini", sent=50, given=3)
    with collected(made.home) as store:
        used = [("gpt-5", 30, 7, 60, 10), ("gpt-5-mini", 50, 3, 0, 0)]
        assert counts(store) == used
        assert len({one.ts for one in every_usage(store)}) == 2
        made.request(session, "gpt-5", sent=9, given=1)
        collect(store, made.home)
        assert counts(store) == [*used, ("gpt-5", 9, 1, 0, 0)]
        check_sound(store)
    made.close()


def test_sums_from_before_the_ledger_count_once(made: GooseHome) -> None:
    made.db.execute(NEWER_TABLES)
    session = made.session()
    made.message(session, "user", said("go"))
    made.use(session, 500, 40)
    with collected(made.home) as store:
        assert counts(store) == [("gpt-5", 500, 40, 0, 0)]
        made.use(session, 100, 2)
        made.request(session, "gpt-5-mini", sent=50, given=3)
        collect(store, made.home)
        assert counts(store) == [("gpt-5", 600, 42, 0, 0), ("gpt-5-mini", 50, 3, 0, 0)]
    made.close()
    with collected(made.home) as store:
        assert counts(store) == [("gpt-5", 600, 42, 0, 0), ("gpt-5-mini", 50, 3, 0, 0)]


def test_a_subagent_has_the_parent_that_newer_releases_name(made: GooseHome) -> None:
    made.db.execute(NEWER_TABLES)
    for name, kind in (("20260403_1", "user"), ("20260403_2", "sub_agent")):
        made.message(made.session(name, kind), "user", said("go"))
    made.db.execute("update sessions set parent_session_id = '20260403_1' where id = '20260403_2'")
    made.close()
    with collected(made.home) as store:
        child = store.sessions.get("goose:20260403_2")
        assert (child.parent_uid, child.relation) == ("goose:20260403_1", "subagent")


def test_rows_of_the_ledger_are_kept(made: GooseHome, tmp_path: Path) -> None:
    session = a_session(made)
    made.db.execute(
        "create table usage_ledger (id integer primary key, session_id text, n integer)"
    )
    made.db.execute("insert into usage_ledger values (1, ?, 7)", (session,))
    with collected(made.home) as store:
        [file] = restore_native(store, None, tmp_path / "rows")
        lines = [json.loads(line) for line in file.path.read_text().splitlines()]
        kept = {"message": [], "session": [], "usage_ledger": [], "usage": []}
        for line in lines:
            kept[line["table"]].append(line["row"])
        assert kept["session"] == made.rows("sessions")
        assert kept["message"] == made.rows("messages")
        assert kept["usage_ledger"] == made.rows("usage_ledger")
        made.message(session, "user", said("more"))
        made.db.execute("insert into usage_ledger values (2, ?, 8)", (session,))
        [before] = store.sources.every()
        collect(store, made.home)
        [after] = store.sources.every()
        assert after.kept - before.kept < 2500
    made.close()


# ------------------------------------------------------------ logs of old releases


def old_log(made: GooseHome, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    [row] = made.rows("sessions")
    sums = {name: row[name] for name in row if name.startswith("accumulated")}
    head = {"working_dir": "/home/mira/app", "description": "Mend it", "message_count": 6, **sums}
    lines = [head]
    for message in made.rows("messages"):
        content = json.loads(message["content_json"])
        named = {"id": message["message_id"], "role": message["role"]}
        lines.append({**named, "created": message["created_timestamp"], "content": content})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_log_of_an_old_release_says_the_same(made: GooseHome, tmp_path: Path) -> None:
    a_session(made)
    old_log(made, tmp_path / "old/.local/share/goose/sessions/20260403_1.jsonl")
    old_log(made, tmp_path / "loose/20260403_1.jsonl")
    with collected(made.home) as new:
        for place in ("old", "loose"):
            with collected(tmp_path / place) as old:
                assert [e.event_uid for e in events(old)] == [e.event_uid for e in events(new)]
                [usage] = every_usage(old)
                assert (usage.input_tokens, usage.output_tokens) == (1000, 20)
                check_sound(old)
    made.close()


def test_a_log_whose_session_is_in_the_database_is_left_out(made: GooseHome) -> None:
    a_session(made)
    old_log(made, made.path.parent / "20260403_1.jsonl")
    old_log(made, made.path.parent / "20250101_1.jsonl")
    made.close()
    names = [ref.path.name for ref in AGENT.discover(made.home)]
    assert names == ["sessions.db#20260403_1", "20250101_1.jsonl"]


def test_roots_follow_the_environment(tmp_path: Path) -> None:
    assert AGENT.roots({}, tmp_path) == [tmp_path / ".local/share/goose"]
    assert AGENT.roots({"XDG_DATA_HOME": "/d"}, tmp_path) == [Path("/d/goose")]
    assert AGENT.roots({"GOOSE_PATH_ROOT": "/g"}, tmp_path) == [Path("/g/data")]


def test_a_command_of_goose_is_no_prompt(made: GooseHome) -> None:
    """goose shows its commands to the person and keeps them from the model."""
    kept = {"agentVisible": False}
    session = made.session()
    made.message(session, "user", said("look around"), **kept)
    made.message(session, "user", said("/compact"), **kept)
    made.message(session, "user", said("/compact is a command"), **kept)
    made.close()
    with collected(made.home) as store:
        assert [(e.kind, e.summary) for e in events(store)] == [
            ("user_msg", "look around"),
            ("lifecycle", "/compact"),
            ("user_msg", "/compact is a command"),
        ]


def test_a_fork_repeats_its_origin_and_counts_once(made: GooseHome) -> None:
    """goose writes the text of an error into a copy in another way."""

    def failed(text: str) -> dict[str, Any]:
        result = {"status": "error", "error": text}
        return {"type": "toolResponse", "id": "c1", "toolResult": result}

    origin, copy = made.session(), made.session("20260403_2")
    for session, text in ((origin, "-32600: no tool"), (copy, "-32603: -32600: no tool")):
        made.message(session, "user", said("try it"), name="m1")
        made.message(session, "assistant", asked("c1", "no_such_tool"), name="m2")
        made.message(session, "user", failed(text), name="m3")
    made.message(copy, "user", said("go on"))
    made.close()
    with collected(made.home) as store:
        [first, second] = sorted(store.sessions.every(), key=lambda one: one.session_uid)
        assert (second.relation, second.parent_uid) == ("fork", first.session_uid)
        assert [e.summary for e in events(store, second.session_uid)] == ["go on"]


def test_an_answer_may_name_its_model(made: GooseHome) -> None:
    session, other = made.session(), {"requestedModel": "gpt-6"}
    made.message(session, "assistant", said("Done."), inference=other)
    made.close()
    with collected(made.home) as store:
        assert [event.model for event in events(store)] == ["gpt-6"]


def test_only_the_output_of_a_command_tells_an_exit_code(made: GooseHome) -> None:
    session, said_so = made.session(), "It exited with code 3"
    for call, tool in (("c1", "developer__shell"), ("c2", "delegate")):
        made.message(session, "assistant", asked(call, tool, command="x"))
        made.message(session, "user", answered(call, said_so))
    made.close()
    with collected(made.home) as store:
        found = {e.call_id: e.exit_code for e in events(store) if e.is_a("tool_result")}
        assert found == {"c1": 3, "c2": None}
