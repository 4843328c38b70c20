"""Write Grok sessions for tests, with the files that the real program writes.

    home = GrokHome(tmp_path)
    log = home.session("alpha")
    log.prompt("make the tests pass")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.say("One test fails.")
    log.turn_ended(used(input=900, output=12))
    home.write()

Ids and times depend only on the order of the calls, so the same calls write the same bytes. Files
stay in memory until `GrokHome.write`; ``log.data`` is the contents of ``updates.jsonl``.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid5

from session_memory.core.time import format_time
from session_memory.testing.clock import Clock

Json = dict[str, Any]

MODEL = "grok-4.6"
_IDS = UUID("2f5d9c47-8e31-4b0a-9d64-57c1e0a83b92")
REJECTED = "User rejected the execution for tool `{}`"


def used(
    input: int = 0,
    output: int = 0,
    *,
    cached: int = 0,
    written: int = 0,
    reasoning: int = 0,
    model: str = MODEL,
    more: dict[str, Json] | None = None,
) -> Json:
    """Return the usage of a turn as Grok counts it. ``input`` includes the tokens read from the
    cache (``cached``)."""
    figures = {
        "inputTokens": input,
        "outputTokens": output,
        "totalTokens": input + output,
        "cachedReadTokens": cached,
        "cacheCreationTokens": written,
        "reasoningTokens": reasoning,
        "modelCalls": 1,
    }
    return {**figures, "modelUsage": {model: figures, **(more or {})}, "numTurns": 1}


def both(*turns: Json) -> Json:
    """Return the sum of several usages, as for a parent's turn with its subagents."""
    figures: dict[str, Json] = {}
    for turn in turns:
        for model, more in turn["modelUsage"].items():
            known = figures.setdefault(model, dict.fromkeys(more, 0))
            for name, count in more.items():
                known[name] += count
    first = next(iter(figures.values()))
    return {**first, "modelUsage": figures, "numTurns": 1}


class GrokLog:
    """The directory of one Grok session. Methods that append a line return its ``eventId``."""

    def __init__(self, place: Path, session: str, clock: Clock, cwd: str) -> None:
        self.place = place
        self.session = session
        self.clock = clock
        self.cwd = cwd
        self.lines: list[Json] = []
        self.moments: list[Json] = []
        self.files: dict[str, bytes] = {}
        self.summary: Json = {"info": {"id": session, "cwd": cwd}, "current_model_id": MODEL}
        self.prompt_index = 0
        self.turn = ""
        self.call_id = ""
        self._made = 0

    @property
    def data(self) -> bytes:
        return _jsonl(self.lines)

    def line(self, kind: str, *, own: bool = False, meta: Json | None = None, **fields: Any) -> str:
        """Append an update of any kind. ``own``: it is an extension of Grok to the protocol."""
        self._made += 1
        event_id = f"{self.session}-{self._made}"
        update = {"sessionUpdate": kind, **fields}
        if meta is not None:
            update["_meta"] = meta
        self.clock.tick()
        self.lines.append(
            {
                "timestamp": self.clock.ms // 1000,
                "method": "_x.ai/session/update" if own else "session/update",
                "params": {
                    "sessionId": self.session,
                    "update": update,
                    "_meta": {
                        "eventId": event_id,
                        "agentTimestampMs": self.clock.ms,
                        **({"promptId": self.turn} if self.turn and not own else {}),
                    },
                },
            }
        )
        return event_id

    def moment(self, kind: str, **fields: Any) -> None:
        """Append a line to ``events.jsonl``."""
        self.moments.append({"ts": format_time(self.clock.ms), "type": kind, **fields})

    # ------------------------------------------------------------ the user

    def prompt(self, text: str, *, hidden: bool = False, **meta: Any) -> str:
        """Append a prompt that begins a turn."""
        self.turn = str(uuid5(_IDS, f"{self.session}/{self._made}"))
        marks: Json = {"modelId": MODEL, "promptIndex": self.prompt_index, **meta}
        if hidden:
            marks["hideFromScrollback"] = True
        self.prompt_index += 1
        return self._chunk("user_message_chunk", text, marks)

    def interject(self, text: str) -> str:
        """Append a prompt that the user typed while the agent worked, in the text that Grok writes
        around it."""
        framed = (
            f"The user sent a message while you were working:\n<user_query>\n{text}\n</user_query>"
        )
        return self._chunk("user_message_chunk", f"{framed}\nGo on afterwards.", {"modelId": MODEL})

    def local_command(self, text: str) -> str:
        return self._chunk("user_message_chunk", text, {"hostTurn": True})

    def rewind(self, prompt_index: int) -> str:
        self.prompt_index = prompt_index
        when = format_time(self.clock.ms)
        return self.line(
            "rewind_marker", own=True, target_prompt_index=prompt_index, created_at=when
        )

    # ------------------------------------------------------------ the agent

    def say(self, text: str) -> str:
        return self._chunk("agent_message_chunk", text, None)

    def think(self, text: str) -> str:
        return self._chunk("agent_thought_chunk", text, None)

    def _chunk(self, kind: str, text: str, meta: Json | None) -> str:
        return self.line(kind, meta=meta, content={"type": "text", "text": text})

    def call(self, tool: str, *, kind: str = "other", **arguments: Any) -> str:
        """Append a tool call and the update that follows it. ``self.call_id`` is its id then."""
        self.call_id = f"call_{self.session}_{self._made}"
        meta = {"x.ai/tool": {"version": 1, "name": tool, "kind": kind}}
        self.line("tool_call", meta=meta, toolCallId=self.call_id, title=tool, rawInput=arguments)
        return self.line("tool_call_update", meta=meta, toolCallId=self.call_id, rawInput=arguments)

    def result(
        self,
        text: str,
        *,
        status: str | None = "completed",
        call_id: str = "",
        raw: Json | None = None,
        **fields: Any,
    ) -> str:
        content = [{"type": "content", "content": {"type": "text", "text": text}}]
        if status is not None:
            fields["status"] = status
        if raw is not None:
            fields["rawOutput"] = raw
        return self.line(
            "tool_call_update", toolCallId=call_id or self.call_id, content=content, **fields
        )

    def run(self, command: str, output: str = "", exit_code: int = 0) -> str:
        """Append a shell command and its output, which Grok writes in three forms."""
        self.call("run_terminal_command", kind="execute", command=command)
        return self.result(output, raw=bash(command, output, exit_code))

    def edit(self, path: str, old: str = "a", new: str = "b") -> str:
        self.call("search_replace", kind="edit", file_path=path, old_string=old, new_string=new)
        return self.line(
            "tool_call_update",
            toolCallId=self.call_id,
            status="completed",
            content=[{"type": "diff", "path": path, "oldText": old, "newText": new}],
            rawOutput={"type": "SearchReplace", "EditsApplied": {"new_string": "b"}},
        )

    def reject(self, tool: str) -> str:
        """Append the user's rejection of the last call, which ends the turn."""
        self.moment("permission_requested", tool_name=tool)
        self.moment("permission_resolved", tool_name=tool, decision="deny", wait_ms=4000)
        self.completed(tool, "permission_rejected")
        return self.result(REJECTED.format(tool), status="failed")

    def completed(self, tool: str, outcome: str = "success", duration_ms: int = 10) -> None:
        self.moment(
            "tool_completed",
            tool_name=tool,
            duration_ms=duration_ms,
            outcome=outcome,
            tool_call_id=self.call_id,
        )

    def turn_ended(
        self,
        usage: Json | None = None,
        stop: str = "end_turn",
        *,
        by: str | None = None,
        **fields: Any,
    ) -> str:
        """Append the end of a turn. ``by`` says what cancelled it."""
        if usage is not None:
            fields["usage"] = usage
        fields = {"prompt_id": self.turn, "stop_reason": stop, **fields, "elapsed_ms": 1500}
        event_id = self.line("turn_completed", own=True, **fields)
        if by is not None:
            self.lines[-1]["params"]["_meta"]["cancellationCategory"] = by
        return event_id

    # ------------------------------------------------------------ other sessions

    def spawned(self, child: str, description: str) -> str:
        return self.line(
            "subagent_spawned",
            own=True,
            subagent_id=child,
            parent_session_id=self.session,
            parent_prompt_id=self.turn,
            child_session_id=child,
            subagent_type="general-purpose",
            description=description,
        )

    def finished(self, child: str, output: str = "done", status: str = "completed") -> str:
        return self.line(
            "subagent_finished",
            own=True,
            subagent_id=child,
            child_session_id=child,
            status=status,
            output=output,
        )

    def meta_of(self, child: str, description: str, **fields: Any) -> None:
        """Add the file about a subagent to this directory, which is its parent's."""
        known = {
            "subagent_id": child,
            "parent_session_id": self.session,
            "child_session_id": child,
            "description": description,
            "status": "completed",
            **fields,
        }
        self.files[f"subagents/{child}/meta.json"] = json.dumps(known).encode()

    def contents(self) -> dict[Path, bytes]:
        """Return every file of the session's directory, by its path."""
        found = {
            "updates.jsonl": self.data,
            "summary.json": json.dumps(self.summary, indent=2).encode(),
            **self.files,
        }
        if self.moments:
            found["events.jsonl"] = _jsonl(self.moments)
        return {self.place / name: body for name, body in found.items()}


class GrokHome:
    """A home directory with the sessions of one project."""

    def __init__(self, path: Path, *, cwd: str = "/home/mira/code/app") -> None:
        self.path = path
        self.cwd = cwd
        self.clock = Clock()
        self.logs: list[GrokLog] = []

    def session(self, session: str = "alpha") -> GrokLog:
        place = Path(".grok", "sessions", quote(self.cwd, safe=""), session)
        log = GrokLog(place, session, self.clock, self.cwd)
        self.logs.append(log)
        return log

    def subagent(self, parent: GrokLog, child: str, description: str) -> GrokLog:
        """Add a subagent and return its log. It is a session of its own; only a file in its
        parent's directory names the parent."""
        log = self.session(child)
        log.summary["session_kind"] = "subagent"
        parent.meta_of(child, description)
        return log

    def fork(self, log: GrokLog, session: str, *, lines: int | None = None) -> GrokLog:
        """Add another session that begins with copies of the lines of ``log``, with new times.

        ``lines`` is the number of lines that are copied; None copies all.
        """
        forked = self.session(session)
        forked.summary |= {
            "session_kind": "fork",
            "parent_session_id": log.session,
            "forked_at": self.clock.tick(),
        }
        for line in log.lines[:lines]:
            params = {**line["params"], "sessionId": session}
            forked.lines.append({**line, "timestamp": self.clock.ms // 1000, "params": params})
        forked.prompt_index, forked._made = log.prompt_index, log._made
        return forked

    def write(self, logs: Iterable[GrokLog] | None = None) -> Path:
        """Write all files, or only those of ``logs``, and return the home directory."""
        for log in self.logs if logs is None else logs:
            for place, body in log.contents().items():
                target = self.path / place
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(body)
        return self.path


def bash(command: str, output: str, exit_code: int = 0, **more: Any) -> Json:
    """Return the raw result of a shell command: its output as byte values and as the model got
    it."""
    return {
        "type": "Bash",
        "output": list(output.encode()),
        "output_for_prompt": f"exit: {exit_code}\n{output}",
        "exit_code": exit_code,
        "command": command,
        "truncated": False,
        "signal": None,
        "timed_out": False,
        **more,
    }


def _jsonl(lines: Iterable[Json]) -> bytes:
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
