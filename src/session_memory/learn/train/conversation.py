"""A session as chat messages that chat templates can render.

Templates differ in what they accept, so messages follow the strictest of them: people and the agent
alternate, every message has at most one call, its result comes next, ids have nine letters and
digits, arguments are objects, and a message without a call has no field for calls.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from session_memory.core.schema import Session, SessionEvent
from session_memory.derive.bodies import Bodies
from session_memory.learn.train import gate
from session_memory.learn.train.gate import ProjectNames
from session_memory.learn.train.tool_schemas import tool_schemas
from session_memory.store.store import Store

LONGEST_OUTPUT = 4000
Message = dict[str, Any]


class Turn(msgspec.Struct):
    """What a person asked, and everything until the agent's answer. ``uids`` are its events."""

    messages: list[Message]
    uids: set[str]

    @property
    def is_complete(self) -> bool:
        last = self.messages[-1]
        return last["role"] == "assistant" and "tool_calls" not in last and bool(last["content"])


class CallPlace(msgspec.Struct, frozen=True):
    """Where a call is: its turn, and the number of the message that makes it."""

    turn: Turn
    message: int


class Conversation:
    """The turns of a session. Abandoned branches, thinking and injected texts are left out.

    With ``tools`` also calls and results are included; a call without a result is not.
    """

    def __init__(self, store: Store, session: Session, *, tools: bool) -> None:
        self._bodies = Bodies(store)
        self._tools = tools
        self._open: dict[str, SessionEvent] = {}
        self._made = 0
        self.turns: list[Turn] = []
        self.calls: dict[str, CallPlace] = {}
        """The place of each call, by the uids of the call and of its result."""
        self.names = ProjectNames(session.cwd or "", session.repo or "", session.host or "")
        row = store.sessions.row(session.session_uid)
        for event in store.events.each_of(row.id, session.session_uid) if row else ():
            if not event.is_sidechain and event.branch is None:
                self._add(event)
        self._make_general()

    @property
    def messages(self) -> list[Message]:
        """All complete turns, one after the other."""
        return [one for turn in self.turns if turn.is_complete for one in turn.messages]

    def _add(self, event: SessionEvent) -> None:
        if event.is_a("tool_call"):
            if self._tools and event.call_id:
                self._open[event.call_id] = event
        elif event.is_a("tool_result"):
            if self.turns and (call := self._open.pop(event.call_id or "", None)) is not None:
                self._call(call, event)
        elif event.role == "user" and (event.is_a("user_msg") or _is_plan(event)):
            self._asked(event)
        elif event.is_a("assistant_msg") and self.turns:
            self._answered(event)

    def _asked(self, event: SessionEvent) -> None:
        text = self._bodies.of(event).text.strip()
        if not text:
            return
        if self.turns and len(self.turns[-1].messages) == 1:
            _join(self.turns[-1].messages[0], text)
        else:
            self.turns.append(Turn([{"role": "user", "content": text}], set()))
        self._note(event)

    def _answered(self, event: SessionEvent) -> None:
        text, messages = self._bodies.of(event).text.strip(), self.turns[-1].messages
        if not text:
            return
        if messages[-1]["role"] == "assistant":
            _join(messages[-1], text)
        else:
            messages.append({"role": "assistant", "content": text})
        self._note(event)

    def _call(self, call: SessionEvent, result: SessionEvent) -> None:
        turn = self.turns[-1]
        if turn.messages[-1]["role"] != "assistant":
            turn.messages.append({"role": "assistant", "content": ""})
        body, name = self._bodies.of(call), call.tool or "tool"
        make = body.arguments if isinstance(body.arguments, dict) else {"input": body.text}
        self._made += 1
        number = f"c{self._made:08}"
        function = {"name": name, "arguments": make}
        turn.messages[-1]["tool_calls"] = [{"id": number, "type": "function", "function": function}]
        place = CallPlace(turn, len(turn.messages) - 1)
        text = self._bodies.of(result).text
        turn.messages.append(
            {"role": "tool", "tool_call_id": number, "name": name, "content": text}
        )
        for event in (call, result):
            self._note(event)
            self.calls[event.event_uid or ""] = place

    def _note(self, event: SessionEvent) -> None:
        self.turns[-1].uids.add(event.event_uid or "")

    def _make_general(self) -> None:
        """Mask secrets and names in every text. People who are named anywhere are masked
        everywhere."""
        every = [message for turn in self.turns for message in turn.messages]
        people = gate.people_in(message["content"] for message in every)
        self.names = msgspec.structs.replace(self.names, people=people)
        for message in every:
            text = gate.clean(message["content"], self.names)
            message["content"] = _cut(text) if message["role"] == "tool" else text
            for call in message.get("tool_calls", ()):
                function = call["function"]
                function["arguments"] = gate.clean_values(function["arguments"], self.names)


def text_of(messages: list[Message]) -> str:
    """All texts and arguments, to compare conversations and to check for names."""
    return "\n".join(_texts(messages))


def _texts(messages: list[Message]) -> Iterator[str]:
    for message in messages:
        yield message["content"]
        for call in message.get("tool_calls", ()):
            yield json.dumps(call["function"]["arguments"], ensure_ascii=False, sort_keys=True)


def with_tools(row: dict[str, list[Message]], *, tools: bool) -> dict[str, Any]:
    """The row with the schemas of the tools that its messages call."""
    if not tools:
        return row
    return {**row, "tools": tool_schemas([one for part in row.values() for one in part])}


def _join(message: Message, text: str) -> None:
    message["content"] = "\n\n".join(filter(None, (message["content"], text)))


def _cut(text: str) -> str:
    # Secrets are masked by now. Half a secret would not have been recognized.
    half = LONGEST_OUTPUT // 2
    return f"{text[:half]}\n…\n{text[-half:]}" if len(text) > LONGEST_OUTPUT else text


def _is_plan(event: SessionEvent) -> bool:
    """Whether the agent was given a plan that a person accepted."""
    return (event.native_kind or "").endswith("/plan")
