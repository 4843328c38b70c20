"""A small writer of Claude Code logs: what the real program writes, as far as a reader cares.

    home = ClaudeHome(tmp_path)
    log = home.session("alpha")
    log.prompt("make the tests pass")
    log.answer("I run them.", call("Bash", command="pytest -q"))
    log.result("1 failed", is_error=True)
    home.write()

Ids and times follow from the order of the calls, so the same calls write the same bytes. Lines
are kept in memory until `ClaudeHome.write`; ``log.data`` is what a file would hold.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from session_memory.core.time import format_time, parse_time

Json = dict[str, Any]

MODEL = "claude-opus-4-8"
VERSION = "2.1.325"
START = "2026-07-01T10:00:00.000Z"
TICK_MS = 1000
_IDS = UUID("6f1d5a0e-3c1b-4d7e-9b52-0a4c2f8e7d16")
_PROJECTS = Path(".claude", "projects")
_CHAINED = frozenset({"user", "assistant", "system", "attachment", "progress"})

REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was"
    " a file edit, the new_string was NOT written to the file)."
)
WORDS_FOLLOW = " To tell you how to proceed, the user said:\n"
STOP_AND_WAIT = " STOP what you are doing and wait for the user to tell you how to proceed."
CONTINUED = "This session is being continued from a previous conversation"


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def thinking(words: str) -> Json:
    return {"type": "thinking", "thinking": words, "signature": "c2lnbmF0dXJl"}


def call(tool: str, call_id: str | None = None, **arguments: Any) -> Json:
    """A tool call; without ``call_id`` the log that it is written to names it."""
    return {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}


def usage(
    output: int = 10,
    *,
    input: int = 3,
    read: int = 0,
    write: int = 0,
    one_hour: int = 0,
    searches: int = 0,
    speed: str = "standard",
) -> Json:
    """What a response used; ``write`` are all cache writes, ``one_hour`` the dear part of them."""
    return {
        "input_tokens": input,
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
        "cache_creation": {
            "ephemeral_5m_input_tokens": write - one_hour,
            "ephemeral_1h_input_tokens": one_hour,
        },
        "server_tool_use": {"web_search_requests": searches, "web_fetch_requests": 0},
        "service_tier": "standard",
        "speed": speed,
    }


def line_of(record: Json) -> bytes:
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


class Clock:
    """Ticks with every line, never by itself."""

    def __init__(self, start: str = START) -> None:
        self._ms = parse_time(start)

    def tick(self, ms: int = TICK_MS) -> str:
        self._ms += ms
        return format_time(self._ms)


class Log:
    """One file in the making. Every method appends lines; those of the chain move ``head``."""

    def __init__(
        self,
        place: Path,
        session: str,
        clock: Clock,
        *,
        version: str = VERSION,
        cwd: str = "/home/mira/code/app",
        agent: str | None = None,
    ) -> None:
        self.place = place
        self.session = session
        self.agent = agent
        self.clock = clock
        self.version = version
        self.cwd = cwd
        self.lines: list[bytes] = []
        self.files: dict[Path, bytes] = {}
        self.head: str | None = None
        self.is_sidechain = agent is not None
        self.call_id = ""
        self._name = session if agent is None else f"{session}/{agent}"
        self._made = 0
        self._records: list[Json] = []

    @property
    def data(self) -> bytes:
        return b"".join(self.lines)

    @property
    def uid(self) -> str:
        """The uid under which the session of these lines is stored."""
        return f"claude:{self.session}" if self.agent is None else self.uid_of(self.agent)

    def uid_of(self, agent: str) -> str:
        return f"claude:{self.session}:{agent}"

    # ------------------------------------------------------------ any line

    def line(self, kind: str, **fields: Any) -> str:
        """A line of the chain, below the head; its uuid. ``fields`` override everything."""
        record: Json = {
            "parentUuid": self.head,
            "isSidechain": self.is_sidechain,
            "type": kind,
            "uuid": self._new_id("uuid"),
            "timestamp": self.clock.tick(),
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": self.version,
            "gitBranch": "main",
        }
        if self.agent is not None:
            record["agentId"] = self.agent
        record.update(fields)
        record = {name: value for name, value in record.items() if value is not ...}
        self.add(record)
        if "uuid" in record:
            self.head = record["uuid"]
        return str(record.get("uuid", ""))

    def note(self, kind: str, **fields: Any) -> None:
        """A line outside the chain, without uuid or time: titles, modes and the like."""
        self.add({"type": kind, "sessionId": self.session, **fields})

    def add(self, record: Json) -> None:
        """A line exactly as given."""
        self._records.append(record)
        self.raw(line_of(record))

    def raw(self, data: bytes) -> None:
        """Bytes exactly as given: garbage, blanks, a torn tail."""
        self.lines.append(data)

    def _new_id(self, kind: str) -> str:
        self._made += 1
        name = f"{self._name}:{self._made}"
        return str(uuid5(_IDS, name)) if kind == "uuid" else f"{kind}_{name}".replace("/", ".")

    # ------------------------------------------------------------ what a person does

    def prompt(self, words: str | list[Json], **fields: Any) -> str:
        fields.setdefault("promptSource", "typed")
        return self.line("user", message={"role": "user", "content": words}, **fields)

    def slash_command(self, name: str, arguments: str = "") -> str:
        """A command that is a prompt, such as ``/review``."""
        return self.prompt(
            f"<command-message>{name}</command-message>\n<command-name>/{name}</command-name>\n"
            f"<command-args>{arguments}</command-args>"
        )

    def local_command(self, name: str, output: str = "") -> str:
        """A command of the program itself, such as ``/clear``: no prompt for the model."""
        self.meta(
            "<local-command-caveat>Caveat: The messages below were generated by the user while"
            " running local commands.</local-command-caveat>"
        )
        self.prompt(
            f"<command-name>/{name}</command-name>\n            "
            f"<command-message>{name}</command-message>\n            <command-args></command-args>"
        )
        return self.prompt(f"<local-command-stdout>{output}</local-command-stdout>")

    def queued(self, words: str, **attachment: Any) -> str:
        """A prompt typed while the agent works and taken up in the middle of its turn."""
        body = {"type": "queued_command", "prompt": words, "commandMode": "prompt", **attachment}
        self.note("queue-operation", operation="enqueue", content=words)
        self.note("queue-operation", operation="remove", reason="absorbed_mid_turn")
        return self.line("attachment", attachment=body)

    def interrupt(self, *, during_tool: bool = False) -> str:
        suffix = " for tool use" if during_tool else ""
        return self.prompt([text(f"[Request interrupted by user{suffix}]")], promptSource=...)

    def rewind(self, to: str | None) -> None:
        """The next line hangs below ``to``; what followed it stays in the file."""
        self.head = to

    def permission_mode(self, mode: str) -> None:
        self.note("permission-mode", permissionMode=mode)

    # ------------------------------------------------------------ what the agent does

    def answer(
        self,
        *blocks: str | Json,
        id: str | None = None,
        request: str | None = None,
        model: str = MODEL,
        used: Json | None = None,
        early: Json | None = None,
        stop: str | None = "",
        **fields: Any,
    ) -> list[str]:
        """One response, a line for each block; the uuids of the lines.

        Every line carries ``used``, or, where given, all but the last the snapshot ``early``.
        ``self.call_id`` is the id of its last call.
        """
        content = [text(block) if isinstance(block, str) else dict(block) for block in blocks]
        for block in content:
            if block["type"] == "tool_use":
                block["id"] = self.call_id = block["id"] or self._new_id("toolu")
        if stop == "":
            stop = "tool_use" if any(b["type"] == "tool_use" for b in content) else "end_turn"
        id = id or self._new_id("msg")
        used = used if used is not None else usage()
        uuids = []
        for place, block in enumerate(content):
            is_last = place == len(content) - 1
            message = {
                "id": id,
                "type": "message",
                "role": "assistant",
                "model": model,
                "content": [block],
                "stop_reason": stop,
                "usage": used if is_last or early is None else early,
            }
            told: Json = {"requestId": request or id.replace("msg", "req")}
            uuids.append(self.line("assistant", **{**told, "message": message, **fields}))
        return uuids

    def result(
        self,
        output: str | list[Json] = "ok",
        *,
        call_id: str | None = None,
        is_error: bool = False,
        told: Any = None,
        **fields: Any,
    ) -> str:
        """The result of ``call_id``, else of the last call; ``told`` is its ``toolUseResult``."""
        block = {
            "tool_use_id": call_id or self.call_id,
            "type": "tool_result",
            "content": output,
            "is_error": is_error,
        }
        if told is not None:
            fields["toolUseResult"] = told
        return self.line("user", message={"role": "user", "content": [block]}, **fields)

    def run(self, command: str, output: str = "", exit_code: int = 0, **fields: Any) -> str:
        """A shell command and its output; a failure reads as the program writes it."""
        self.answer(call("Bash", command=command))
        if exit_code:
            output = f"Exit code {exit_code}\n{output}"
            return self.result(output, is_error=True, told=f"Error: {output}", **fields)
        return self.result(output, told={"stdout": output, "stderr": "", "interrupted": False})

    def edit(self, path: str) -> str:
        self.answer(call("Edit", file_path=path, old_string="a", new_string="b"))
        return self.result(f"The file {path} has been updated.")

    def reject(self, words: str | None = None, *, new: bool = False) -> str:
        """A person refuses the last call: with words of theirs, or without."""
        if new:
            return self.result(
                words or REJECTED,
                is_error=True,
                toolDenialKind="user-rejected",
                holdsPersonsWords=words is not None,
                permissionDecision={"decision": "reject", "source": "user_reject"},
            )
        told = REJECTED + (STOP_AND_WAIT if words is None else f"{WORDS_FOLLOW}{words}")
        return self.result(told, is_error=True, told="User rejected tool use")

    def deny(self, kind: str = "permission-rule") -> str:
        """A rule, a hook or a classifier refuses the last call; no person did."""
        return self.result(
            "Permission to use this tool has been denied.", is_error=True, toolDenialKind=kind
        )

    def abort(self, words: str, **fields: Any) -> str:
        """An answer that was cut off while it streamed, with the usage its start announced."""
        fields.setdefault("used", usage(1))
        return self.answer(words, stop=None, isAbortedMidStream=True, **fields)[-1]

    def api_error(self, attempt: int = 1, status: int = 529) -> str:
        error = {"status": status, "formatted": f"{status} Overloaded"}
        return self.line(
            "system",
            subtype="api_error",
            level="error",
            error=error,
            retryAttempt=attempt,
            maxRetries=10,
            retryInMs=500,
        )

    def api_failure(self, words: str = "API Error: 529 Overloaded") -> str:
        """The program's own words after the last retry."""
        fields: Json = {"isApiErrorMessage": True, "error": "server_error", "apiErrorStatus": 529}
        used = usage(0, input=0)
        return self.answer(words, model="<synthetic>", used=used, stop="stop_sequence", **fields)[0]

    def turn_ended(self, duration_ms: int = 1500) -> str:
        return self.line("system", subtype="turn_duration", durationMs=duration_ms, isMeta=False)

    def compact(self, summary: str = "what happened so far", trigger: str = "auto") -> str:
        """A compaction: the chain breaks, and only ``logicalParentUuid`` says where it went on."""
        before, self.head = self.head, None
        self.line(
            "system",
            subtype="compact_boundary",
            content="Conversation compacted",
            logicalParentUuid=before,
            compactMetadata={"trigger": trigger, "preTokens": 155000},
        )
        return self.prompt(
            f"{CONTINUED} that ran out of context. {summary}",
            isCompactSummary=True,
            isVisibleInTranscriptOnly=True,
            promptSource=...,
        )

    # ------------------------------------------------------------ what nobody said

    def meta(self, words: str) -> str:
        return self.prompt(words, isMeta=True, promptSource=...)

    def notification(self, task: str, status: str = "completed") -> str:
        body = f"<task-notification>\n<task-id>{task}</task-id>\n<status>{status}</status>"
        return self.prompt(
            f"{body}\n</task-notification>",
            promptSource="system",
            origin={"kind": "task-notification"},
        )

    def attachment(self, kind: str, **body: Any) -> str:
        return self.line("attachment", attachment={"type": kind, **body})

    def progress(self, *, agent: str | None = None, call_id: str | None = None) -> str:
        """A tick of 2.1.12 to 2.1.81: bookkeeping, but a part of the chain."""
        data: Json = {"type": "bash_progress", "output": ""}
        if agent is not None:
            data = {"type": "agent_progress", "agentId": agent}
        ids = call_id or self.call_id
        return self.line("progress", data=data, toolUseID=ids, parentToolUseID=ids)

    def custom_title(self, title: str) -> None:
        self.note("custom-title", customTitle=title)

    def ai_title(self, title: str) -> None:
        self.note("ai-title", aiTitle=title)

    def agent_name(self, name: str) -> None:
        self.note("agent-name", agentName=name)

    def summary(self, words: str, leaf: str | None = None) -> None:
        """A title as versions up to 2.1.22 wrote it; ``leaf`` may lie in another session."""
        self.add({"type": "summary", "summary": words, "leafUuid": leaf or self.head})

    def last_prompt(self, words: str = "") -> None:
        self.note("last-prompt", lastPrompt=words, leafUuid=self.head)

    # ------------------------------------------------------------ other files

    def fork(self, session: str, *, lines: int | None = None, version: str | None = None) -> "Log":
        """Another session that begins with a copy of this one: only ``sessionId`` differs.

        ``lines`` of the chain are copied, all when ``None``.
        """
        forked = Log(
            self.place.with_name(f"{session}.jsonl"),
            session,
            self.clock,
            version=version or self.version,
            cwd=self.cwd,
        )
        chained = [r for r in self._records if r.get("type") in _CHAINED and r.get("uuid")]
        for record in chained[:lines]:
            forked.add({**record, "sessionId": session})
            forked.head = record["uuid"]
        return forked

    def moved(self, slug: str) -> "Log":
        """The same session going on in a file of another project, as after a move."""
        place = self.place.parent.with_name(slug) / self.place.name
        log = Log(place, self.session, self.clock, version=self.version, cwd=self.cwd)
        log.head, log._made = self.head, self._made
        return log

    def sidechain(self) -> "Log":
        """A subagent of 1.0.x: a chain of its own among the lines of this file."""
        lane = Log(self.place, self.session, self.clock, version=self.version, cwd=self.cwd)
        lane.lines, lane._records, lane.files = self.lines, self._records, self.files
        lane._name = f"{self._name}/side{len(self.lines)}"
        lane.is_sidechain = True
        return lane

    def subagent(
        self, agent: str, *, below: bool = True, meta: Json | None = None, under: str = ""
    ) -> "Log":
        """The file of a subagent: below its session's directory, or (2.0.x) beside its file.

        ``meta`` becomes its ``.meta.json``; ``under`` is a directory between, as workflows have.
        """
        directory = self.place.parent
        if below:
            directory = directory / self.session / "subagents" / under
        place = directory / f"agent-{agent}.jsonl"
        child = Log(
            place, self.session, self.clock, version=self.version, cwd=self.cwd, agent=agent
        )
        if meta is not None:
            child.files[place.with_suffix(".meta.json")] = json.dumps(meta).encode()
        return child

    def spill(self, name: str, body: bytes) -> Path:
        """A tool's output that the program moved out of the log; the place it went to."""
        place = self.place.parent / self.session / "tool-results" / name
        self.files[place] = body
        return place


class ClaudeHome:
    """A home directory with the logs of a project or several."""

    def __init__(self, path: Path, *, cwd: str = "/home/mira/code/app") -> None:
        self.path = path
        self.cwd = cwd
        self.clock = Clock()
        self.logs: list[Log] = []

    def session(self, session: str = "alpha", *, version: str = VERSION, slug: str = "") -> Log:
        directory = _PROJECTS / (slug or slug_of(self.cwd))
        return self.keep(
            Log(
                directory / f"{session}.jsonl",
                session,
                self.clock,
                version=version,
                cwd=self.cwd,
            )
        )

    def fork(self, log: Log, session: str, **how: Any) -> Log:
        return self.keep(log.fork(session, **how))

    def subagent(self, log: Log, agent: str, **how: Any) -> Log:
        return self.keep(log.subagent(agent, **how))

    def keep(self, log: Log) -> Log:
        self.logs.append(log)
        return log

    def write(self, logs: Iterable[Log] | None = None) -> Path:
        """Write every file as it stands now, or only those of ``logs``; the home itself."""
        for log in self.logs if logs is None else logs:
            for place, body in {log.place: log.data, **log.files}.items():
                target = self.path / place
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(body)
        return self.path


def slug_of(cwd: str) -> str:
    """The name of a project's directory below ``projects``."""
    return "".join(c if c.isascii() and (c.isalnum() or c == "-") else "-" for c in cwd)
