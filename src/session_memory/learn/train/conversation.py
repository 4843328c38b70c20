"""Turn a session into chat messages that chat templates can render.

Templates differ in what they accept, so messages follow the strictest of them: people and the agent
alternate, every message has at most one call, its result comes next, ids have nine letters and
digits, arguments are objects, and a message without a call has no field for calls.
"""

import json
from itertools import chain
from typing import Any

import msgspec

from session_memory.core.schema import Session
from session_memory.derive.bodies import Bodies, Body
from session_memory.learn.train import gate
from session_memory.learn.train.gate import ProjectNames
from session_memory.learn.train.tool_schemas import tool_schemas
from session_memory.store.brief_events import BriefEvent, brief_events
from session_memory.store.store import Store

LONGEST_OUTPUT = 4000
Message = dict[str, Any]


class Turn(msgspec.Struct):
    """What a person asked, and everything up to the agent's answer, as chat messages.

    ``uids`` are the events in it.
    """

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
    """The turns of a session as chat messages, with secrets and names masked.

    Abandoned branches, sidechains, thinking and injected texts are left out. With ``tools``, calls
    that have a result are included.
    """

    def __init__(self, store: Store, session: Session, *, tools: bool) -> None:
        self._bodies = Bodies(store)
        self._tools = tools
        self._open: dict[str, BriefEvent] = {}
        self._made = 0
        self.turns: list[Turn] = []
        self.calls: dict[str, CallPlace] = {}
        """Where each call is, by the uid of the call and by the uid of its result."""
        self.names = ProjectNames(session.cwd or "", session.repo or "", session.host or "")
        row = store.sessions.row(session.session_uid)
        for event in brief_events(store.db, store.names, row.id) if row else ():
            if not event.is_sidechain and event.branch is None:
                self._add(event)
        self._make_general()
        self.texts = MessageTexts(self.names)

    @property
    def messages(self) -> list[Message]:
        """The messages of all complete turns, in order."""
        return [one for turn in self.turns if turn.is_complete for one in turn.messages]

    def _add(self, event: BriefEvent) -> None:
        if _is_a(event, "tool_call"):
            if self._tools and event.call_id:
                self._open[event.call_id] = event
        elif _is_a(event, "tool_result"):
            if self.turns and (call := self._open.pop(event.call_id or "", None)) is not None:
                self._call(call, event)
        elif event.role == "user" and (_is_a(event, "user_msg") or _is_plan(event)):
            self._asked(event)
        elif _is_a(event, "assistant_msg") and self.turns:
            self._answered(event)

    def _asked(self, event: BriefEvent) -> None:
        text = self._text(event).strip()
        if not text:
            return
        if self.turns and len(self.turns[-1].messages) == 1:
            _join(self.turns[-1].messages[0], text)
        else:
            self.turns.append(Turn([{"role": "user", "content": text}], set()))
        self._note(event)

    def _answered(self, event: BriefEvent) -> None:
        text, messages = self._text(event).strip(), self.turns[-1].messages
        if not text:
            return
        if messages[-1]["role"] == "assistant":
            _join(messages[-1], text)
        else:
            messages.append({"role": "assistant", "content": text})
        self._note(event)

    def _call(self, call: BriefEvent, result: BriefEvent) -> None:
        turn = self.turns[-1]
        if turn.messages[-1]["role"] != "assistant":
            turn.messages.append({"role": "assistant", "content": ""})
        body, name = self._body(call), call.tool or "tool"
        make = body.arguments if isinstance(body.arguments, dict) else {"input": body.text}
        self._made += 1
        number = f"c{self._made:08}"
        function = {"name": name, "arguments": make}
        turn.messages[-1]["tool_calls"] = [{"id": number, "type": "function", "function": function}]
        place = CallPlace(turn, len(turn.messages) - 1)
        text = self._text(result)
        turn.messages.append(
            {"role": "tool", "tool_call_id": number, "name": name, "content": text}
        )
        for uid in (call.event_uid, result.event_uid):
            turn.uids.add(uid)
            self.calls[uid] = place

    def _text(self, event: BriefEvent) -> str:
        return self._body(event).text

    def _body(self, event: BriefEvent) -> Body:
        return self._bodies.at(event.source, event.place, event.length, event.block)

    def _note(self, event: BriefEvent) -> None:
        self.turns[-1].uids.add(event.event_uid)

    def _make_general(self) -> None:
        """Mask secrets and names in every text.

        If one text names somebody as the author of a commit, that name is masked in all texts.
        """
        every = [message for turn in self.turns for message in turn.messages]
        people = gate.people_in(message["content"] for message in every)
        self.names = msgspec.structs.replace(self.names, people=people)
        functions = [call["function"] for one in every for call in one.get("tool_calls", ())]
        contents = (message["content"] for message in every)
        arguments = (text for one in functions for text in gate.texts_in(one["arguments"]))
        clean = gate.clean_all(chain(contents, arguments), self.names)
        for message in every:
            text = clean[message["content"]]
            message["content"] = _cut(text) if message["role"] == "tool" else text
        for function in functions:
            function["arguments"] = gate.with_texts(function["arguments"], clean)


def text_of(messages: list[Message]) -> str:
    """Join the texts and arguments of all messages, to compare conversations."""
    return "\n".join(map(message_text, messages))


def message_text(message: Message) -> str:
    """Return the text of a message and the arguments of its calls, as one text."""
    arguments = (call["function"]["arguments"] for call in message.get("tool_calls", ()))
    dumped = (json.dumps(one, ensure_ascii=False, sort_keys=True) for one in arguments)
    return "\n".join((message["content"], *dumped))


class MessageTexts:
    """Caches the texts of a session's messages, because several rows share messages."""

    def __init__(self, names: ProjectNames) -> None:
        self._names = names
        self._texts: dict[int, str] = {}
        self._named: dict[int, bool] = {}

    def all_of(self, messages: list[Message]) -> str:
        return "\n".join(map(self._text, messages))

    def name_a_project(self, messages: list[Message]) -> bool:
        return any(map(self._is_named, messages))

    def _text(self, message: Message) -> str:
        if (known := self._texts.get(id(message))) is None:
            known = self._texts[id(message)] = message_text(message)
        return known

    def _is_named(self, message: Message) -> bool:
        if (known := self._named.get(id(message))) is None:
            known = gate.names_a_project(self._text(message), self._names)
            self._named[id(message)] = known
        return known


def with_tools(row: dict[str, list[Message]], *, tools: bool) -> dict[str, Any]:
    """Return the row with a column ``tools``: the schemas of the tools that its messages call."""
    if not tools:
        return row
    return {**row, "tools": tool_schemas([one for part in row.values() for one in part])}


def _join(message: Message, text: str) -> None:
    message["content"] = "\n\n".join(filter(None, (message["content"], text)))


def _cut(text: str) -> str:
    # Secrets are masked before this, because half a secret would not be recognized.
    half = LONGEST_OUTPUT // 2
    return f"{text[:half]}\n…\n{text[-half:]}" if len(text) > LONGEST_OUTPUT else text


def _is_a(event: BriefEvent, kind: str) -> bool:
    return event.kind == kind or kind in event.marks


def _is_plan(event: BriefEvent) -> bool:
    """Whether the event gave the agent a plan that a person had accepted."""
    return (event.native_kind or "").endswith("/plan")
