"""The loop of power-loop 0.2.0, unchanged, over our store and over its own.

Each story runs the real `StatefulAgentLoop` with a scripted model and tools that can die. What a
story reports must be the same over both stores, except where power-loop has a known defect.
"""

import asyncio
import functools
import itertools
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from late import Late, late_or_skip

from session_memory import SessionStore
from session_memory.store import Store
from session_memory.testing.collecting import check_sound, collect, events_of, usage_of

NO_POWER_LOOP = "power-loop is not installed: run tools/setup dev"

power_loop = late_or_skip("power_loop", NO_POWER_LOOP)
compact = Late("power_loop.runtime.compact")
errors = Late("power_loop.contracts.errors")
interface = Late("llm_client.interface")
spawn_agent = Late("power_loop.tools.spawn_agent")
their_stores = Late("power_loop.runtime.session_store")

pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

Message = dict[str, Any]


class Killed(BaseException):
    """The process dies. Nothing of the loop catches it."""


def call(call_id: str, name: str = "count", **arguments: Any) -> Message:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": call_id, "type": "function", "function": function}


class Model:
    """Gives the next answer of a script: a text, or a list of calls. It never goes back."""

    def __init__(self, *script: str | list[Message]) -> None:
        self.script = list(script)
        self.sent: list[list[Message]] = []
        self.is_strict = True

    async def complete(self, request: Any, **_: Any) -> Any:
        if self.is_strict:
            assert_valid(request.messages)
        self.sent.append([dict(message) for message in request.messages])
        answer = self.script.pop(0)
        used = interface.LLMTokenUsage(prompt_tokens=100, completion_tokens=10, total_tokens=110)
        if isinstance(answer, str):
            return interface.LLMResponse(raw_text=answer, token_usage=used)
        return interface.LLMResponse(raw_text="", tool_calls=answer, token_usage=used)


def assert_valid(messages: list[Message]) -> None:
    """What providers demand: each call has its result in the messages right after it."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting, f"a result without a call: {messages}"
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting, f"calls without a result: {waiting}"
        waiting = [one["id"] for one in message.get("tool_calls") or ()]
    assert not waiting, f"calls without a result: {waiting}"


class Tools:
    """A tool that notes its calls. It dies when it is asked for ``dies_at``."""

    def __init__(self, dies_at: int | None = None) -> None:
        self.ran: list[int] = []
        self.dies_at = dies_at
        self.registry = power_loop.ToolRegistry()
        self.registry.register(power_loop.ToolDefinition("count", "Counts."), self.count)

    def count(self, n: int) -> str:
        if n == self.dies_at:
            raise Killed
        self.ran.append(n)
        return f"counted {n}"


def loop_over(store: Any, model: Model, tools: Tools | None = None, **config: Any) -> Any:
    settings = power_loop.AgentLoopConfig(system_prompt="Count.", **{"compactor": None, **config})
    registry = None if tools is None else tools.registry
    return power_loop.StatefulAgentLoop(
        llm=model, store=store, config=settings, tool_registry=registry
    )


def seen(store: Any, session: str) -> list[tuple[Any, ...]]:
    """The context, without seqs and times."""
    return [
        (m.role, m.name, m.content, m.tool_calls, m.tool_call_id, m.round_index)
        for m in store.load_active_messages(session)
    ]


Reopen = Callable[[], Any]
"""Opens a store once more, as a program does that starts after a crash."""


@pytest.fixture
def ours(opened: Store) -> Reopen:
    return lambda: SessionStore(opened.db)


@pytest.fixture
def theirs(tmp_path: Path) -> Iterator[Reopen]:
    with their_stores.SessionStore.open(tmp_path / "theirs.db") as store:
        yield lambda: their_stores.SessionStore(store._conn, store.path)


def run(coroutine: Any) -> Any:
    return asyncio.run(coroutine)


# ------------------------------------------------------------ stories with the same report


def sends_and_tools(reopen: Reopen) -> Any:
    tools = Tools()
    model = Model([call("a", n=1), call("b", n=2)], "Three.", "Nothing else.")
    loop = loop_over(reopen(), model, tools)
    first = run(loop.send("Count one and two."))
    assert (first.status, first.final_text, first.rounds) == ("completed", "Three.", 2)
    assert tools.ran == [1, 2]
    second = run(loop.send("Go on.", session_id=first.session_id))
    assert second.final_text == "Nothing else."
    store = reopen()
    assert store.get_state(first.session_id).pending is None
    return seen(store, first.session_id), model.sent


def dies_before_the_first_of_two_tools(reopen: Reopen) -> Any:
    """SWITCHING 3.88: over our store, ``resume`` ran no tool and sent a call without a result."""
    store, calls = reopen(), [call("a", n=1), call("b", n=2)]
    session = store.create_session()
    with pytest.raises(Killed):
        run(loop_over(store, Model(calls), Tools(dies_at=1)).send("Count.", session_id=session))
    store, tools = reopen(), Tools()
    state = store.get_state(session)
    assert state.pending["tool_calls"] == calls
    assert (state.pending["tool_call_ids"], state.pending["round_index"]) == (["a", "b"], 0)
    model = Model("Three.")
    loop = loop_over(store, model, tools)
    with pytest.raises(errors.SessionPendingError, match="2 unresolved tool_calls .*: count,count"):
        run(loop.send("And now?", session_id=session))
    result = run(loop.resume(session))
    assert (result.status, result.final_text, tools.ran) == ("completed", "Three.", [1, 2])
    return seen(store, session), model.sent, store.get_state(session).pending


def aborts(reopen: Reopen) -> Any:
    store = reopen()
    session = store.create_session()
    with pytest.raises(Killed):
        calls = [call("a", n=1), call("b", n=2)]
        run(loop_over(store, Model(calls), Tools(dies_at=1)).send("Count.", session_id=session))
    store, model = reopen(), Model("As you like.")
    loop = loop_over(store, model, Tools())
    assert loop.abort_pending(session, reason="too slow") == 2
    assert loop.abort_pending(session) == 0
    assert loop.get_pending(session) is None
    assert run(loop.send("Never mind.", session_id=session)).final_text == "As you like."
    return seen(store, session), model.sent


def has_no_tools_and_resumes_without_them(reopen: Reopen) -> Any:
    loop = loop_over(reopen(), Model([call("a", n=1)]))
    result = run(loop.send("Count."))
    assert result.status == "pending_tools"
    store, model = reopen(), Model("I cannot.")
    loop = loop_over(store, model)
    assert loop.get_pending(result.session_id)["tool_calls"] == [call("a", n=1)]
    assert run(loop.resume(result.session_id)).final_text == "I cannot."
    return seen(store, result.session_id), model.sent


def runs_out_of_rounds(reopen: Reopen) -> Any:
    store, tools = reopen(), Tools()
    model = Model([call("a", n=1)], [call("a", n=2)], "Not done.")
    result = run(loop_over(store, model, tools, max_rounds=2).send("Count for ever."))
    assert (result.status, tools.ran) == ("hit_round_limit", [1, 2])
    return seen(store, result.session_id), model.sent, store.get_state(result.session_id).pending


def has_two_sessions_at_once(reopen: Reopen) -> Any:
    store = reopen()
    loop = loop_over(store, Model("One.", "Two."))

    async def both() -> list[Any]:
        return await asyncio.gather(loop.send("First?"), loop.send("Second?"))

    sessions = [result.session_id for result in run(both())]
    assert len(set(sessions)) == 2
    return sorted(str(seen(store, session)) for session in sessions)


def spawns(reopen: Reopen) -> Any:
    """An ephemeral child is gone when it returns; its parent has what it said."""
    store, tools = reopen(), Tools()
    spawn_agent.register_spawn_agent(tools.registry)
    model = Model(
        [call("s", "spawn_agent", task="Count three.")],
        [call("c", n=3)],
        "Three, says the child.",
        "The child says three.",
    )
    result = run(loop_over(store, model, tools).send("Delegate."))
    assert (result.final_text, tools.ran) == ("The child says three.", [3])
    assert store.list_children(result.session_id) == []
    return seen(store, result.session_id), model.sent


def has_linked_and_detached_children(reopen: Reopen) -> Any:
    store, tools = reopen(), Tools()
    spawn_agent.register_spawn_agent(tools.registry)
    specs = [
        {"name": kind, "system_prompt": "Be brief.", "lifecycle": kind, "metadata": {"of": kind}}
        for kind in ("linked", "detached")
    ]
    calls = [call(s["name"], "run_agent", spec=s, input="Begin.") for s in specs]
    model = Model(calls, "Linked.", "Detached.", "Both said something.")
    parent = run(loop_over(store, model, tools).send("Delegate.")).session_id
    linked, detached = store.list_children(parent)
    assert (linked.metadata, linked.spawn_depth) == ({"of": "linked"}, 1)
    assert (linked.lifecycle, detached.lifecycle) == ("linked", "detached")
    assert [row.kind for row in (linked, detached)] == ["subagent", "subagent"]
    told = seen(store, linked.session_id), seen(store, parent)
    store = reopen()
    assert loop_over(store, model).close_session(parent) == 2
    assert store.get_session(parent) is None and store.get_session(linked.session_id) is None
    left = store.get_session(detached.session_id)
    assert left.parent_session_id is None
    return told, seen(store, detached.session_id), left.metadata


def spawns_too_deep(reopen: Reopen) -> Any:
    store, tools = reopen(), Tools()
    spawn_agent.register_spawn_agent(tools.registry)
    deeper = [[call(f"s{n}", "spawn_agent", task="Deeper.")] for n in range(4)]
    model = Model(*deeper, *(f"Back at {n}." for n in range(3, -1, -1)))
    result = run(loop_over(store, model, tools).send("Dig."))
    assert result.final_text == "Back at 0."
    refused = model.sent[4][-1]["content"]
    assert "spawn rejected — depth 4 exceeds max 3" in refused
    return seen(store, result.session_id), model.sent


def compacts_once(reopen: Reopen) -> Any:
    store, tools = reopen(), Tools()
    model = Model([call("a", n=1)], "One.", "Two.", "A summary.", "Three.")
    compactor = compact.DefaultCompactor(absolute_threshold=30, keep_last_n=1)
    loop = loop_over(store, model, tools, compactor=compactor)
    session = run(loop.send("Count one. " + "x" * 60)).session_id
    [fold] = store.list_compactions(session) or [None]
    assert fold is None
    run(loop.send("And two.", session_id=session))
    [fold] = store.list_compactions(session)
    notes = [m for m in store.load_all_messages(session) if m.name == "compact_note"]
    states = [m.state for m in store.load_all_messages(session)]
    assert store.get_state(session).last_compact_seq == 1
    return (
        (fold.compact_seq, fold.note_seq, fold.from_seq, fold.to_seq, fold.round_index),
        (fold.before_tokens, fold.after_tokens),
        [(note.content, note.meta) for note in notes],
        [str(getattr(state, "value", state)) for state in states],
    )


STORIES = [
    dies_before_the_first_of_two_tools,
    has_linked_and_detached_children,
    compacts_once,
]
MORE_STORIES = [
    sends_and_tools,
    aborts,
    has_no_tools_and_resumes_without_them,
    runs_out_of_rounds,
    has_two_sessions_at_once,
    spawns,
    spawns_too_deep,
]


@BOTH
@pytest.mark.parametrize("story", STORIES)
def test_the_loop_does_the_same_over_our_store(
    story: Callable[[Reopen], Any], ours: Reopen, theirs: Reopen
) -> None:
    assert story(ours) == story(theirs)


@pytest.mark.parametrize("story", MORE_STORIES)
def test_the_loop_does_the_same_in_more_stories(
    story: Callable[[Reopen], Any], ours: Reopen, theirs: Reopen
) -> None:
    assert story(ours) == story(theirs)


# ------------------------------------------------------------ better than over their own store


@BOTH
@pytest.mark.parametrize("dies_at", [1, 2, 3])
def test_a_crash_at_each_tool_leaves_exactly_the_calls_without_a_result(
    ours: Reopen, dies_at: int
) -> None:
    """SWITCHING 3.74, 3.88. Over power-loop's own store nothing ran after the first result."""
    store, calls = ours(), [call(f"c{n}", n=n) for n in (1, 2, 3)]
    session, tools = store.create_session(), Tools(dies_at)
    with pytest.raises(Killed):
        run(loop_over(store, Model(calls), tools).send("Count.", session_id=session))
    assert tools.ran == list(range(1, dies_at))
    store, again = ours(), Tools()
    left = calls[dies_at - 1 :]
    assert store.get_state(session).pending == {
        "assistant_seq": 2,
        "round_index": 0,
        "tool_call_ids": [one["id"] for one in left],
        "tool_calls": left,
    }
    loop = loop_over(store, Model("Six."), again)
    with pytest.raises(errors.SessionPendingError) as refused:
        run(loop.send("And?", session_id=session))
    assert refused.value.pending_tool_calls == left and refused.value.assistant_seq == 2
    assert run(loop.resume(session)).final_text == "Six."
    assert again.ran == list(range(dies_at, 4))
    assert loop.get_pending(session) is None


class DyingStore:
    """Our store, whose process dies before or after the n-th call of an operation that writes."""

    WRITES = ("append_message", "set_pending", "set_round_index", "record_usage")

    def __init__(self, store: SessionStore, dies_at: int, before: bool) -> None:
        self._store, self._left, self._before = store, dies_at, before

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._store, name)
        return functools.partial(self._dying, operation) if name in self.WRITES else operation

    def _dying(self, operation: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._left -= 1
        if self._left == 0 and self._before:
            raise Killed
        done = operation(*args, **kwargs)
        if self._left == 0:
            raise Killed
        return done


@pytest.mark.parametrize("before", [True, False])
def test_wherever_the_process_dies_resume_completes_the_send(ours: Reopen, before: bool) -> None:
    for dies_at in itertools.count(1):
        store, tools = ours(), Tools()
        session = store.create_session()
        script = [[call("a", n=1), call("b", n=2)], [call("a", n=3)], "Six."]
        model = Model(*script)
        loop = loop_over(DyingStore(store, dies_at, before), model, tools)
        try:
            run(loop.send("Count.", session_id=session))
        except Killed:
            answers = [m for m in store.load_path(session) if m.role == "assistant"]
            model = Model(*script[len(answers) :], "Nothing to do.")
            if not store.load_path(session):
                run(loop_over(store, model, tools).send("Count.", session_id=session))
            else:
                run(loop_over(store, model, tools).resume(session))
        else:
            break
        said = [m.content for m in store.load_path(session) if m.role == "tool"]
        assert said == ["counted 1", "counted 2", "counted 3"]
        assert store.pending(session) == [] and store.get_state(session).pending is None
        # Only the tool whose result was not stored may run twice.
        assert len(tools.ran) in (3, 4) and set(tools.ran) == {1, 2, 3}
    assert dies_at > 12


def test_the_note_is_where_the_folded_messages_were_also_the_second_time(ours: Reopen) -> None:
    """Over power-loop's own store, notes came after the messages that they precede."""
    store, model = ours(), Model("One.", "Two.", "Three.", "Four.")
    notes = Model("First note.", "Second note.", "Third note.")
    compactor = compact.DefaultCompactor(absolute_threshold=25, keep_last_n=1, summary_llm=notes)
    loop = loop_over(store, model, compactor=compactor)
    session = run(loop.send("A" * 40)).session_id
    for letter in "BCD":
        run(loop.send(letter * 40, session_id=session))
        told = [(m.role, m.content) for m in ours().load_active_messages(session)]
        assert told[:-1] == [(m["role"], m["content"]) for m in model.sent[-1]]
    assert [content for _, content in told[-2:]] == ["D" * 40, "Four."]
    folds = store.list_compactions(session)
    assert len(folds) == 3 and all(fold.from_seq <= fold.to_seq for fold in folds)


def test_a_compaction_that_would_split_a_call_folds_what_it_can(ours: Reopen) -> None:
    """power-loop's compactor ends a fold between a call and its result when a prompt follows."""
    store = ours()
    session = store.create_session()
    with pytest.raises(Killed):
        calls = Model("Hello.", [call("a", n=1)])
        loop = loop_over(store, calls, Tools(dies_at=1))
        run(loop.send("Hello? " + "x" * 80, session_id=session))
        run(loop.send("Count.", session_id=session))
    compactor = compact.DefaultCompactor(absolute_threshold=25, keep_last_n=1)
    model = Model("A note.", "Fine.")
    model.is_strict = False
    loop = loop_over(store, model, Tools(), compactor=compactor)
    loop.abort_pending(session)
    assert run(loop.send("Never mind.", session_id=session)).status == "completed"
    context = store.load_active_messages(session)
    told = ["A note.", "", "<aborted: aborted>", "Never mind.", "Fine."]
    assert [m.content for m in context] == told
    [fold] = store.list_compactions(session)
    assert (fold.from_seq, fold.to_seq, fold.members) == (1, 3, [1, 2, 3])
    assert run(loop_over(store, Model("On."), Tools()).send("On?", session_id=session))


class Memory:
    """What power-loop recalls is in its history, but in no store."""

    async def recall(self, **_: Any) -> list[Message]:
        return [{"role": "system", "content": f"Remember {n}."} for n in (1, 2)]

    async def remember(self, **_: Any) -> None:
        pass


def test_recalled_memory_moves_what_a_compaction_folds_and_breaks_nothing(ours: Reopen) -> None:
    """power-loop counts the recalled messages, so that its ranges begin too late."""
    store, notes = ours(), Model(*(f"Note {n}." for n in range(20)))
    model = Model(*([call("a", n=n), call("b", n=n)] if n % 2 else f"{n}." for n in range(1, 11)))
    model.is_strict = False
    compactor = compact.DefaultCompactor(absolute_threshold=30, keep_last_n=1, summary_llm=notes)
    loop = loop_over(store, model, Tools(), memory=Memory(), compactor=compactor)
    session = run(loop.send("A" * 60)).session_id
    for letter in "BCDE":
        run(loop.send(letter * 60, session_id=session))
        assert_valid(loop.get_messages(session))
    assert store.list_compactions(session)


def test_every_round_of_every_send_counts(ours: Reopen) -> None:
    """power-loop's own store keeps the usage of the last send only."""
    store = ours()
    session = store.create_session(model="gpt-5.5")
    loop = loop_over(store, Model("One.", "Two.", "Three."), Tools())
    for prompt in "abc":
        run(loop.send(prompt, session_id=session))
    assert store.usage_totals(session)["total_tokens"] == 330


def test_calls_without_ids_are_run_and_do_not_stay_pending(ours: Reopen) -> None:
    """Over power-loop's own store, such a session refuses every further send."""
    store, calls = ours(), [call("", n=1), call("", n=2)]
    session = store.create_session()
    with pytest.raises(Killed):
        run(loop_over(store, Model(calls), Tools(dies_at=2)).send("Count.", session_id=session))
    loop = loop_over(ours(), Model("Three.", "On."), tools := Tools())
    loop.llm.is_strict = False
    assert run(loop.resume(session)).final_text == "Three."
    assert tools.ran == [2]
    assert run(loop.send("On?", session_id=session)).final_text == "On."


def test_a_cancelled_loop_can_be_resumed(ours: Reopen) -> None:
    store, stop, tools = ours(), threading.Event(), Tools()
    tools.registry.register(
        power_loop.ToolDefinition("stop", "Stops."), lambda: stop.set() or "stopped"
    )
    calls = [call("a", "stop"), call("b", n=2)]
    result = run(loop_over(store, Model(calls), tools).send("Count.", stop_event=stop))
    assert (result.status, tools.ran) == ("cancelled", [])
    loop = loop_over(store, Model("Two."), tools)
    assert [one["id"] for one in loop.get_pending(result.session_id)["tool_calls"]] == ["b"]
    assert run(loop.resume(result.session_id)).final_text == "Two."
    assert tools.ran == [2]


# ------------------------------------------------------------ the rest of the product


def test_what_the_loop_kept_is_priced_searched_and_has_its_repository(
    opened: Store, ours: Reopen, tmp_path: Path
) -> None:
    """SWITCHING 3.79, 3.90: its usage had no model, and its directory was not seen."""
    store, model = ours(), Model([call("a", n=1)], "Counted to one.")
    session = store.create_session(model="gpt-5.5", metadata={"cwd": "/home/mira/code/kiln"})
    run(loop_over(store, model, Tools()).send("Count the tiles.", session_id=session))
    collect(opened, tmp_path)
    about = opened.sessions.get(f"live:{session}")
    assert about is not None
    assert (about.repo, about.title, about.model) == ("kiln", "Count the tiles.", "gpt-5.5")
    assert (about.cost.input_tokens, about.cost.output_tokens) == (100, 10)
    assert {used.model for used in usage_of(opened, f"live:{session}")} == {"gpt-5.5"}
    kinds = [event.kind for event in events_of(opened, f"live:{session}")]
    assert kinds == ["user_msg", "tool_call", "tool_result", "assistant_msg"]
    check_sound(opened)
