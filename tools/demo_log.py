"""Writes lines the way Claude Code does: what tools/make_demo.py tells its stories with.

A ``Log`` is one transcript file. It knows how the shape of a line changed between versions, keeps
the clock, the chain of parents and the token counts, and draws every id from the session's own, so
that the same stories always give the same bytes. Evidence for the shapes: docs/formats/claude.md.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from difflib import SequenceMatcher
from typing import Any

Block = dict[str, Any]

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

# What the instructions and tools of the agent weigh before anyone has said a word. Their text
# is the vendor's and not part of the demo.
FIRST_CONTEXT = 14_200

# Dollars per million tokens: input, output, cache read, 5-minute write, 1-hour write.
RATES = {
    "claude-opus-5-5": (4.0, 20.0, 0.2, 5.0, 8.0),
    "claude-haiku-4-5-20251001": (1.0, 5.0, 0.1, 1.25, 2.0),
}


def think(text: str) -> Block:
    return {"type": "thinking", "thinking": text, "signature": "ZGVtbw=="}


def say(text: str) -> Block:
    return {"type": "text", "text": text}


def call(name: str, **arguments: Any) -> Block:
    return {"type": "tool_use", "name": name, "input": arguments}


def tokens_of(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False)) // 4 + 1


def hunks(old: str, new: str) -> list[dict[str, Any]]:
    """The change from ``old`` to ``new`` as Claude Code's ``structuredPatch`` has it."""
    a, b = old.splitlines(), new.splitlines()
    patch = []
    for group in SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(3):
        first, last = group[0], group[-1]
        lines: list[str] = []
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [" " + line for line in a[i1:i2]]
            else:
                lines += ["-" + line for line in a[i1:i2]] + ["+" + line for line in b[j1:j2]]
        patch.append(
            {
                "oldStart": first[1] + 1,
                "oldLines": last[2] - first[1],
                "newStart": first[3] + 1,
                "newLines": last[4] - first[3],
                "lines": lines,
            }
        )
    return patch


@dataclass
class Log:
    """One transcript file in the making."""

    session: str
    version: str
    cwd: str
    branch: str
    model: str
    start: str
    slug: str = ""
    agent: str = ""
    agent_type: str = ""
    lines: list[bytes] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)
    parent: str | None = None
    files: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.now = datetime.fromisoformat(self.start).astimezone(UTC)
        self.era = tuple(int(part) for part in self.version.split("."))
        self.sidechain = bool(self.agent)
        self.context = 0
        self.unsent = FIRST_CONTEXT
        self.prompt_id = ""
        self.turns = 0
        self.tools: list[str] = []
        self.spent: dict[str, dict[str, int]] = {}
        self.turn_began = self.now
        self._drawn = 0

    @property
    def newest(self) -> bool:
        return self.era >= (2, 1, 300)

    # -- ids and time --------------------------------------------------------------------------

    def _draw(self) -> bytes:
        self._drawn += 1
        return hashlib.sha256(f"{self.session}/{self.agent}/{self._drawn}".encode()).digest()

    def uuid(self) -> str:
        return str(uuid.UUID(bytes=self._draw()[:16], version=4))

    def native_id(self, prefix: str) -> str:
        return prefix + "".join(BASE62[byte % 62] for byte in self._draw()[:22])

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def timestamp(self) -> str:
        # A few milliseconds pass between any two lines, never the same number of them.
        self.now += timedelta(milliseconds=7 + self._draw()[0] % 90)
        return self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    # -- lines ---------------------------------------------------------------------------------

    def line(self, record: dict[str, Any]) -> None:
        """A line outside the chain, written as it is."""
        self.records.append(record)
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        self.lines.append(text.encode() + b"\n")

    def note(self, kind: str, **fields: Any) -> None:
        """A single-purpose line: a title, a mode, what was typed last."""
        self.line({"type": kind, **fields, "sessionId": self.session})

    def chain(self, before: dict[str, Any], after: dict[str, Any] | None = None) -> str:
        """A line of the chain, below the present parent; its uuid becomes the parent."""
        own = self.uuid()
        link: dict[str, Any] = {"parentUuid": self.parent, "isSidechain": self.sidechain}
        place: dict[str, Any] = {"cwd": self.cwd, "sessionId": self.session}
        place |= {"version": self.version, "gitBranch": self.branch}
        agent = {"agentId": self.agent} if self.agent else {}
        slug = {"slug": self.slug} if self.slug else {}
        stamp = {"uuid": own, "timestamp": self.timestamp()}
        if self.era < (2, 1):
            base = link | {"userType": "external"} | place | slug | agent
            self.line(base | before | stamp | (after or {}))
        else:
            base = {"userType": "external", "entrypoint": "cli"} | place | slug
            self.line(link | agent | before | stamp | (after or {}) | base)
        self.parent = own
        return own

    def prompt(self, text: str, **extra: Any) -> str:
        """What a person typed; inside an agent, what it was asked to do."""
        self.prompt_id = self.uuid()
        self.unsent += tokens_of(text)
        self.turn_began = self.now
        before: dict[str, Any] = {"type": "user", "message": {"role": "user", "content": text}}
        after: dict[str, Any] = {}
        if self.era >= (2, 1):
            before = {"promptId": self.prompt_id} | before
        if not self.sidechain:
            self.turns += 1
            if self.era >= (2, 1):
                after = {"permissionMode": "default", "promptSource": "typed"}
            elif self.era >= (2, 0):
                after = {"thinkingMetadata": {"level": "high", "disabled": False, "triggers": []}}
                after |= {"todos": []}
            if self.newest:
                after["turnPosition"] = {"promptIndex": 0, "turnIndex": self.turns}
        return self.chain(before, after | extra)

    def usage(self, output: int) -> dict[str, Any]:
        """The counts of one answer: what is new is written to the cache, the rest read from it."""
        written, read = self.unsent, self.context
        an_hour = written if self.era >= (2, 1) and not self.newest else 0
        split = {
            "ephemeral_5m_input_tokens": written - an_hour,
            "ephemeral_1h_input_tokens": an_hour,
        }
        usage: dict[str, Any] = {
            "input_tokens": 3 + self._draw()[0] % 9,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": read,
            "cache_creation": split,
            "output_tokens": output,
            "service_tier": "standard",
        }
        if self.era >= (2, 1):
            usage["server_tool_use"] = {"web_search_requests": 0, "web_fetch_requests": 0}
            usage |= {"inference_geo": "", "iterations": [], "speed": "standard"}
        if self.newest:
            usage["output_tokens_details"] = {"thinking_tokens": 0}
            usage["fallback_credit"] = None
        return usage

    def _spend(self, usage: dict[str, Any]) -> None:
        spent = self.spent.setdefault(
            self.model, dict.fromkeys(("in", "out", "read", "5m", "1h"), 0)
        )
        spent["in"] += usage["input_tokens"]
        spent["out"] += usage["output_tokens"]
        spent["read"] += usage["cache_read_input_tokens"]
        spent["5m"] += usage["cache_creation"]["ephemeral_5m_input_tokens"]
        spent["1h"] += usage["cache_creation"]["ephemeral_1h_input_tokens"]

    def answer(self, *blocks: Block, seconds: float = 6) -> list[str]:
        """One answer of the model: one line for each block. The ids of its tool calls."""
        self.wait(seconds)
        calls = [block for block in blocks if block["type"] == "tool_use"]
        stop = ("tool_use" if calls else "end_turn") if self.era >= (2, 1) else None
        message_id, request_id = self.native_id("msg_01"), self.native_id("req_011C")
        usage = self.usage(sum(tokens_of(block) for block in blocks))
        reference = self.uuid()
        ids: list[str] = []
        if self.newest and (new := [c["name"] for c in calls if c["name"] not in self.tools]):
            self.tools += new
            self.note("tools-used", tools=list(self.tools))
        for index, block in enumerate(blocks):
            if block["type"] == "tool_use":
                ids.append(self.native_id("toolu_01"))
                block = {"type": "tool_use", "id": ids[-1], **block}
            last = index == len(blocks) - 1
            # Until about 2.1.3 the count of output tokens was a snapshot that grew with the answer.
            seen = usage if last or self.newest else usage | {"output_tokens": 2 + index}
            message = {
                "id": message_id,
                "type": "message",
                "role": "assistant",
                "model": self.model,
                "content": [block],
                "stop_reason": stop,
                "stop_sequence": None,
                "usage": seen,
            }
            after: dict[str, Any] = {}
            before: dict[str, Any] = {"message": message, "requestId": request_id}
            if self.newest:
                message["stop_details"] = None
                before = {"message": message, "apiBlockIndex": index, "requestId": request_id}
                before |= {"requestRef": reference, "requestedModel": self.model}
                before["promptCacheRequested"] = "5m"
                if self.agent:
                    before["attributionAgent"] = self.agent_type
                after = {"effort": "medium", "perTurnEffort": "medium", "madeBy": "model"}
            self.chain(before | {"type": "assistant"}, after)
        self._spend(usage)
        self.context += self.unsent
        self.unsent = usage["output_tokens"]
        self._calls = {
            block["message"]["content"][0]["id"]: block["uuid"]
            for block in self.records[-len(blocks) :]
            if block["message"]["content"][0]["type"] == "tool_use"
        }
        return ids

    def result(
        self,
        call_id: str,
        content: Any,
        detail: Any = None,
        *,
        is_error: bool | None = None,
        seconds: float = 1,
        **extra: Any,
    ) -> str:
        """What came back from a tool call, below the line of the call."""
        self.wait(seconds)
        self.unsent += tokens_of(content)
        block: dict[str, Any] = {"tool_use_id": call_id, "type": "tool_result", "content": content}
        if is_error is not None:
            block["is_error"] = is_error
        before: dict[str, Any] = {"type": "user", "message": {"role": "user", "content": [block]}}
        after: dict[str, Any] = {"toolUseResult": detail} if detail is not None else {}
        self.parent = self._calls[call_id]
        if self.era >= (2, 1):
            before = {"promptId": self.prompt_id} | before
            after["sourceToolAssistantUUID"] = self.parent
        if self.newest:
            by_rule = {"decision": "accept", "source": "config", "reasonType": "mode"}
            after["permissionDecision"] = by_rule
        return self.chain(before, after | extra)

    def ran(self, call_id: str, output: str, seconds: float = 2, **detail: Any) -> str:
        """A shell command that ended well."""
        whole: dict[str, Any] = {"stdout": output, "stderr": "", "interrupted": False}
        whole["isImage"] = False
        if self.era >= (2, 1):
            whole["noOutputExpected"] = False
        return self.result(call_id, output, whole | detail, is_error=False, seconds=seconds)

    def failed(self, call_id: str, output: str, code: int = 1, seconds: float = 2) -> str:
        """A shell command that ended with a status other than 0."""
        text = f"Exit code {code}\n{output}"
        return self.result(call_id, text, f"Error: {text}", is_error=True, seconds=seconds)

    def showed(self, call_id: str, path: str) -> str:
        """A file that was read."""
        text = self.files[path]
        count = len(text.splitlines())
        numbered = "\n".join(f"{i:>6}\u2192{line}" for i, line in enumerate(text.splitlines(), 1))
        place = {"filePath": f"{self.cwd}/{path}", "content": text, "numLines": count}
        file = place | {"startLine": 1, "totalLines": count}
        return self.result(call_id, numbered, {"type": "text", "file": file})

    def write(self, path: str, text: str) -> Block:
        return call("Write", file_path=f"{self.cwd}/{path}", content=text)

    def wrote(self, call_id: str, path: str, text: str, **extra: Any) -> str:
        """A file that was created."""
        self.files[path] = text
        detail: dict[str, Any] = {
            "type": "create",
            "filePath": f"{self.cwd}/{path}",
            "content": text,
        }
        detail |= {"structuredPatch": [], "originalFile": None}
        said = f"File created successfully at: {self.cwd}/{path}"
        return self.result(call_id, said, detail, **extra)

    def edit(self, path: str, old: str, new: str) -> Block:
        return call("Edit", file_path=f"{self.cwd}/{path}", old_string=old, new_string=new)

    def edited(self, call_id: str, path: str, old: str, new: str, **extra: Any) -> str:
        """A file in which one passage was replaced."""
        before = self.files[path]
        assert old in before, (path, old)
        after = self.files[path] = before.replace(old, new, 1)
        detail = {
            "filePath": f"{self.cwd}/{path}",
            "oldString": old,
            "newString": new,
            "originalFile": before,
            "structuredPatch": hunks(before, after),
            "userModified": False,
            "replaceAll": False,
        }
        said = f"The file {self.cwd}/{path} has been updated successfully."
        return self.result(call_id, said, detail, **extra)

    def interrupted(self, words: str = "[Request interrupted by user]") -> str:
        text = {"role": "user", "content": [{"type": "text", "text": words}]}
        return self.chain({"promptId": self.prompt_id, "type": "user", "message": text})

    def system(self, subtype: str, before: dict[str, Any] | None = None, **after: Any) -> str:
        return self.chain({"type": "system", "subtype": subtype} | (before or {}), after)

    def turn_ended(self, messages: int) -> str:
        took = int((self.now - self.turn_began).total_seconds() * 1000)
        return self.system(
            "turn_duration", {"durationMs": took, "messageCount": messages}, isMeta=False
        )

    @contextmanager
    def inline_agent(self) -> Iterator[None]:
        """Version 1 writes a subagent's lines into the session's own file, off its chain."""
        outside, context, unsent = self.parent, self.context, self.unsent
        outside_calls = self._calls
        self.parent, self.sidechain, self.context, self.unsent = None, True, 0, 3_100
        yield
        self.parent, self.sidechain, self.context, self.unsent = outside, False, context, unsent
        self._calls = outside_calls

    def costs(self, *agents: "Log") -> None:
        """The newest versions end with what everything cost, subagents included."""
        usage: dict[str, Any] = {}
        for log in (self, *agents):
            for model, n in log.spent.items():
                prices = zip(n.values(), (0, 1, 2, 3, 4), strict=True)
                dollars = sum(count * RATES[model][i] for count, i in prices) / 1_000_000
                usage[model] = {
                    "inputTokens": n["in"],
                    "outputTokens": n["out"],
                    "thinkingTokens": 0,
                    "cacheReadInputTokens": n["read"],
                    "cacheCreationInputTokens": n["5m"] + n["1h"],
                    "cacheCreationEphemeral5mInputTokens": n["5m"],
                    "cacheCreationEphemeral1hInputTokens": n["1h"],
                    "webSearchRequests": 0,
                    "costUSD": round(dollars, 6),
                }
        began = datetime.fromisoformat(self.start)
        self.line(
            {
                "type": "cost-state",
                "sessionId": self.session,
                "totalCostUSD": round(sum(row["costUSD"] for row in usage.values()), 6),
                "totalAPIDuration": 48_210,
                "totalToolDuration": 12_730,
                "totalLinesAdded": 9,
                "totalLinesRemoved": 2,
                "totalDuration": int((self.now - began).total_seconds() * 1000),
                "startTime": int(began.timestamp() * 1000),
                "modelUsage": usage,
                "hasUnknownModelCost": False,
            }
        )

    # -- files ---------------------------------------------------------------------------------

    @property
    def project(self) -> str:
        """The project's directory below ``.claude/projects``."""
        return re.sub(r"[^A-Za-z0-9-]", "-", self.cwd)

    def bytes(self) -> bytes:
        return b"".join(self.lines)
