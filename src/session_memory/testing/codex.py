"""Write Codex logs for tests, in the three generations of the format.

    home = CodexHome(tmp_path)
    log = home.session("alpha")
    log.turn("make the tests pass")
    log.answer("I run them.")
    log.shell("pytest -q")
    log.used(input=100, read=40, output=9)
    log.result(ran(1, "1 failed"))
    log.complete()
    home.write()

Ids and times depend only on the order of the calls, so the same calls write the same bytes.
"""

import json
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from session_memory.core.time import format_time
from session_memory.testing.clock import Clock

Json = dict[str, Any]

BARE, LEGACY, PAGINATED = "bare", "legacy", "paginated"
MODEL = "gpt-5.5-codex"
VERSIONS = {BARE: "0.20.0", LEGACY: "0.128.0", PAGINATED: "0.166.0"}
CWD = "/home/mira/code/app"
START = "2026-11-01T09:00:00.000Z"
TICK_MS = 2000
_IDS = UUID("3b7c5d92-8a64-4f0e-b1d3-5e9f20c7a841")
_FIELDS = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens")
_USED = (*_FIELDS, "reasoning_output_tokens", "total_tokens")


def ran(exit_code: int, output: str = "") -> str:
    """Return the output of ``exec_command`` for a command that has ended."""
    header = f"Chunk ID: 1f\nWall time: 0.4000 seconds\nProcess exited with code {exit_code}"
    return f"{header}\nOutput:\n{output}"


def tokens(
    *, input: int = 0, read: int = 0, write: int = 0, output: int = 0, reasoning: int = 0
) -> Json:
    """Return token counts as Codex writes them. ``input`` includes the tokens read from the
    cache."""
    return dict(zip(_USED, (input, read, write, output, reasoning, input + output), strict=True))


def line_of(record: Json) -> bytes:
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def thread_id(ms: int, name: str) -> str:
    """Return a UUID of version 7: the time ``ms``, then bytes that depend on ``name``."""
    tail = uuid5(_IDS, name).hex
    head = f"{ms:012x}"
    return f"{head[:8]}-{head[8:]}-7{tail[:3]}-a{tail[3:6]}-{tail[6:18]}"


class Rollout:
    """One log file of Codex. Most methods append lines in the format of its ``generation``."""

    def __init__(
        self, home: "CodexHome", name: str, generation: str, *, rollout: str = "", first: int = 0
    ) -> None:
        self.name = name
        self.generation = generation
        self.clock = home.clock
        self.thread = thread_id(self.clock.ms, name)
        self.started = format_time(self.clock.ms)
        self.rollout = rollout
        self.lines: list[bytes] = []
        self.total = tokens()
        self.turn_id = ""
        self.call_id = ""
        self.ordinal = first
        self._made = 0

    @property
    def uid(self) -> str:
        return f"codex:{self.thread}"

    @property
    def data(self) -> bytes:
        return b"".join(self.lines)

    @property
    def file_name(self) -> str:
        moment = self.started[:19].replace(":", "-")
        suffix = f"_{self.rollout}" if self.rollout else ""
        return f"rollout-{moment}-{self.thread}{suffix}.jsonl"

    @property
    def place(self) -> Path:
        return Path(".codex", "sessions", *self.started[:10].split("-"), self.file_name)

    def _id(self, kind: str) -> str:
        self._made += 1
        return f"{kind}_{uuid5(_IDS, f'{self.name}/{self._made}').hex[:20]}"

    # ------------------------------------------------------------ any line

    def line(self, type: str, payload: Json, *, after_ms: int = TICK_MS) -> None:
        if self.generation == BARE:
            self.lines.append(line_of(payload))
            return
        record: Json = {"timestamp": self.clock.tick(after_ms)}
        if self.generation == PAGINATED:
            record["ordinal"] = self.ordinal
            self.ordinal += 1
        self.lines.append(line_of({**record, "type": type, "payload": payload}))

    def raw(self, data: bytes) -> None:
        self.lines.append(data)

    def event(self, type: str, **fields: Any) -> None:
        if self.generation != BARE:
            self.line("event_msg", {"type": type, **fields})

    def item(self, type: str, **fields: Any) -> None:
        """Append a finished item of the turn. Only the third generation has such lines."""
        item = {"type": type, **fields}
        self.event("item_completed", thread_id=self.thread, turn_id=self.turn_id, item=item)

    def meta(self, **fields: Any) -> None:
        """Append the first line of a log. Codex writes it again when a session is resumed."""
        version, git = VERSIONS[self.generation], {"branch": "main"}
        payload: Json = {"id": self.thread, "timestamp": self.started}
        if self.generation == BARE:
            self.lines.append(line_of({**payload, "instructions": None, "git": git, **fields}))
            return
        payload |= {"cwd": CWD, "originator": "codex_cli_rs", "cli_version": version}
        payload |= {"source": "cli", "git": git}
        if self.generation == PAGINATED:
            payload |= {"session_id": self.thread, "history_mode": "paginated"}
        self.line("session_meta", {**payload, **fields})

    # ------------------------------------------------------------ turns

    def turn(self, words: str | None = None, **context: Any) -> None:
        """Begin a turn, with a prompt of the user if ``words`` are given."""
        if self.generation != BARE:
            self.turn_id = thread_id(self.clock.ms, f"{self.name}/turn{len(self.lines)}")
            self.event("task_started", turn_id=self.turn_id, model_context_window=258400)
            self.context(**context)
        if words is not None:
            self.prompt(words)

    def context(self, **fields: Any) -> None:
        settings = {
            "turn_id": self.turn_id,
            "cwd": CWD,
            "approval_policy": "on-request",
            "sandbox_policy": {"type": "workspace-write"},
            "model": MODEL,
        }
        self.line("turn_context", {**settings, **fields})

    def prompt(self, words: str) -> None:
        self.say("user", words)
        if self.generation == LEGACY:
            self.event("user_message", message=words, images=[])
        elif self.generation == PAGINATED:
            self.item("UserMessage", id=self._id("u"), content=[{"type": "text", "text": words}])

    def say(self, role: str, words: str, **fields: Any) -> None:
        """Append a message as an item for the model, without the line for the person."""
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": words}]
        self.line("response_item", {"type": "message", "role": role, "content": content, **fields})

    def answer(self, words: str) -> None:
        fields: Json = {}
        if self.generation == LEGACY:
            self.event("agent_message", message=words)
        elif self.generation == PAGINATED:
            fields = {"id": self._id("msg")}
            self.item("AgentMessage", content=[{"type": "Text", "text": words}], **fields)
        self.say("assistant", words, **fields)

    def think(self, *parts: str) -> None:
        fields: Json = {}
        if self.generation == LEGACY:
            for part in parts:
                self.event("agent_reasoning", text=part)
        elif self.generation == PAGINATED:
            fields = {"id": self._id("rs")}
            self.item("Reasoning", summary_text=list(parts), raw_content=[], **fields)
        summary = [{"type": "summary_text", "text": part} for part in parts]
        sealed = self._id("sealed")
        item = {"type": "reasoning", "summary": summary, "encrypted_content": sealed, **fields}
        self.line("response_item", item)

    def complete(self, **fields: Any) -> None:
        self.event("task_complete", turn_id=self.turn_id, duration_ms=900, **fields)

    def interrupt(self) -> None:
        self.say("user", "<turn_aborted>\nstopped\n</turn_aborted>")
        self.event("turn_aborted", turn_id=self.turn_id, reason="interrupted")

    # ------------------------------------------------------------ tools

    def shell(self, command: str) -> str:
        return self.call("exec_command", cmd=command)

    def call(self, tool: str, call_id: str | None = None, **arguments: Any) -> str:
        self.call_id = call_id or self._id("call")
        item = {"type": "function_call", "name": tool, "call_id": self.call_id}
        self.line("response_item", {**item, "arguments": json.dumps(arguments)})
        return self.call_id

    def custom(self, tool: str, input: str) -> str:
        self.call_id = self._id("call")
        item = {"type": "custom_tool_call", "name": tool, "call_id": self.call_id}
        self.line("response_item", {**item, "input": input})
        return self.call_id

    def result(self, output: Any, call_id: str | None = None) -> None:
        item = {"type": "function_call_output", "call_id": call_id or self.call_id}
        self.line("response_item", {**item, "output": output})

    # ------------------------------------------------------------ usage

    def used(self, response_id: str | None = None, **counts: int) -> None:
        """Append the usage of the response before: a new running total, and in the third generation
        a record of its own."""
        last = tokens(**counts)
        self.total = {name: self.total[name] + last[name] for name in _USED}
        if self.generation == PAGINATED:
            record = {"turn_id": self.turn_id, "response_id": response_id or self._id("resp")}
            self.line("token_usage_record", {**record, "usage": last})
        self.count(last)

    def count(self, last: Json | None = None) -> None:
        """Append a line with the running total of the tokens, and the tokens of the last response.

        Without ``last``, the total is that of the line before, and the last response has none.
        """
        info = {"total_token_usage": self.total, "last_token_usage": last or tokens()}
        self.event("token_count", info=info, rate_limits=None)

    # ------------------------------------------------------------ copies

    def copy(self, lines: list[bytes]) -> None:
        """Append copies of lines of another log, as a fork of the second generation does: each line
        gets the time of the copy."""
        for line in lines:
            record = json.loads(line)
            self.line(record["type"], record["payload"], after_ms=1)
            if record["payload"].get("type") == "token_count":
                self.total = record["payload"]["info"]["total_token_usage"]


class CodexHome:
    """A home directory with Codex logs. All of them share one clock."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = Clock(START, TICK_MS)
        self.logs: list[Rollout] = []

    def session(
        self, name: str, generation: str = PAGINATED, *, header: bool = True, **meta: Any
    ) -> Rollout:
        self.clock.tick()
        log = Rollout(self, name, generation)
        self.logs.append(log)
        if header:
            log.meta(**meta)
        return log

    def fork(self, parent: Rollout, name: str) -> Rollout:
        """Add a fork of the third generation, which refers to ``parent`` and copies no lines."""
        self.clock.tick()
        log = Rollout(self, name, PAGINATED, first=parent.ordinal)
        self.logs.append(log)
        base = {"thread_id": parent.thread, "end_ordinal_exclusive": parent.ordinal}
        log.meta(forked_from_id=parent.thread, history_base={**base, "end_byte_offset": 0})
        log.total = dict(parent.total)
        return log

    def subagent(
        self, parent: Rollout, name: str, generation: str = PAGINATED, **meta: Any
    ) -> Rollout:
        spawn = {"parent_thread_id": parent.thread, "depth": 1, "agent_nickname": "Ada"}
        known = {"source": {"subagent": {"thread_spawn": spawn}}, "session_id": parent.thread}
        known["parent_thread_id"] = parent.thread
        return self.session(name, generation, **{**known, **meta})

    def write(self) -> Path:
        """Write all logs below the root directory and return it."""
        for log in self.logs:
            path = self.root / log.place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(log.data)
        return self.root
