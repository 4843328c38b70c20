"""Families of small logs, as Hypothesis draws them: copies, forks of forks, replays, damage.

A family is a universe of records, each with one uuid and one content, and some files that pick
from it. The same record in two files is copied history; picked twice in one it is a replay;
records with the same message id are one response. How records are picked is drawn as stretches,
so that most files look like forks and resumes and some look like nothing an agent ever wrote.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import strategies as st

from session_memory.core.time import format_time, parse_time
from session_memory.testing.claude import line_of
from session_memory.testing.clock import START

PROJECT = Path(".claude/projects/-home-mira-code-app")
MOVED = Path(".claude/projects/-home-mira-code-other")
SESSIONS = ("anna", "bert", "cleo", "dora")
STRANGERS = ("xena", "yves")
_START = parse_time(START)


@dataclass(frozen=True)
class Line:
    """A line of a file: which record, and what session it says it belongs to."""

    record: dict[str, object] | None
    session: str | None = None
    data: bytes = b""

    @property
    def bytes(self) -> bytes:
        if self.record is None:
            return self.data
        if self.session is None:
            return line_of(self.record)
        return line_of({**self.record, "sessionId": self.session})


@dataclass
class File:
    place: Path
    lines: list[Line] = field(default_factory=list)
    torn: bytes = b""

    @property
    def data(self) -> bytes:
        return b"".join(line.bytes for line in self.lines) + self.torn

    def __repr__(self) -> str:
        shown = [line.bytes.decode(errors="replace").rstrip() for line in self.lines]
        return "\n".join((f"File {self.place}", *shown, f"torn {self.torn!r}"))


def uuid_of(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


def _message(draw: st.DrawFn, number: int) -> dict[str, object]:
    output = draw(st.integers(0, 3))
    block = draw(
        st.sampled_from(
            (
                {"type": "text", "text": f"answer {number}"},
                {"type": "thinking", "thinking": f"thought {number}"},
                {
                    "type": "tool_use",
                    "id": f"call{number % 3}",
                    "name": "Bash",
                    "input": {"command": draw(st.sampled_from(("pytest -q", "ls")))},
                },
            )
        )
    )
    return {
        "id": f"msg{draw(st.integers(0, 4))}",
        "role": "assistant",
        "model": draw(st.sampled_from(("opus", "sonnet"))),
        "content": [block],
        "stop_reason": draw(st.sampled_from(("end_turn", "tool_use", None))),
        "usage": {"input_tokens": output * 10, "output_tokens": output},
    }  # fmt: skip


def _content(draw: st.DrawFn, number: int) -> dict[str, object]:
    kinds = ("prompt", "prompt", "answer", "answer", "result", "ended", "progress", "progress",
             "interrupt", "boundary", "queued")  # fmt: skip
    match draw(st.sampled_from(kinds)):
        case "prompt":
            return {"type": "user", "message": {"role": "user", "content": f"prompt {number}"}}
        case "answer":
            return {"type": "assistant", "message": _message(draw, number)}
        case "result":
            block = {
                "type": "tool_result",
                "tool_use_id": f"call{draw(st.integers(0, 2))}",
                "content": draw(st.sampled_from(("fine", "1 failed"))),
                "is_error": draw(st.booleans()),
            }
            tool_result = {"agentId": draw(st.sampled_from((None, *SESSIONS)))}
            message = {"role": "user", "content": [block]}
            return {"type": "user", "message": message, "toolUseResult": tool_result}
        case "interrupt":
            words = "[Request interrupted by user]"
            return {"type": "user", "message": {"role": "user", "content": words}}
        case "ended":
            return {"type": "system", "subtype": "turn_duration", "durationMs": number}
        case "progress":
            agent = draw(st.sampled_from((None, *SESSIONS)))
            data: dict[str, object] = {"type": "agent_progress", "agentId": agent}
            if draw(st.integers(0, 2)):
                # What the subagent got. Its own log may have it too, or come later, or never.
                data["message"] = {"type": "assistant", "message": _message(draw, number)}
            return {"type": "progress", "data": data, "parentToolUseID": "call2"}
        case "queued":
            queued = {"type": "queued_command", "prompt": f"queued {number}"}
            return {"type": "attachment", "attachment": queued}
        case _:
            return {"type": "system", "subtype": "compact_boundary"}


@st.composite
def universes(draw: st.DrawFn, most: int = 9) -> list[dict[str, object]]:
    """Records in the order of their making; each hangs below an earlier one, or below nothing."""
    records: list[dict[str, object]] = []
    for number in range(draw(st.integers(1, most))):
        below = draw(st.sampled_from((1, 1, 1, 1, 2, 3, 99, -1)))
        parent = uuid_of(number - below) if number - below >= 0 or below < 0 else None
        minute = draw(st.sampled_from((number, number, number, number, 0, 9, None)))
        record: dict[str, object] = {"uuid": uuid_of(number), "parentUuid": parent}
        if minute is not None:
            record["timestamp"] = format_time(_START + minute * 60_000)
        record.update(_content(draw, number))
        if draw(st.integers(0, 9)) == 9:
            record["isSidechain"] = True
        if draw(st.integers(0, 19)) == 19:
            del record["uuid"]
        records.append(record)
    return records


NOTES = (
    {"type": "custom-title", "customTitle": "a name"},
    {"type": "ai-title", "aiTitle": "a guess"},
    {"type": "permission-mode", "permissionMode": "plan"},
    {"type": "permission-mode", "permissionMode": "default"},
    {"type": "summary", "summary": "a summary", "leafUuid": uuid_of(1)},
    {"type": "last-prompt", "lastPrompt": "prompt"},
    {"type": "something-new", "body": [1, 2]},
)
GARBAGE = (b"{torn in the middle\n", b"\xff\xfe\n", b"[1, 2]\n", b"\n", b"  \n")


def _twisted(draw: st.DrawFn, record: dict[str, object]) -> dict[str, object]:
    """Now and then a copy says something else under the same id: somebody edited it."""
    if draw(st.integers(0, 24)) < 24:
        return record
    words = [{"type": "text", "text": "edited"}, {"type": "text", "text": "by hand"}]
    message = {"id": "msg1", "model": "opus", "content": words, "usage": {"output_tokens": 7}}
    return {**record, "type": "assistant", "message": message}


@st.composite
def _stretches(draw: st.DrawFn, universe: list[dict[str, object]], session: str) -> list[Line]:
    """Lines of one file: stretches of the universe, notes, garbage, lines of other sessions."""
    lines: list[Line] = []
    for _ in range(draw(st.integers(1, 3))):
        first = draw(st.integers(0, len(universe) - 1))
        last = draw(st.integers(first, len(universe)))
        said = draw(st.sampled_from((session,) * 5 + (None,) + SESSIONS[:3]))
        lines += [Line(_twisted(draw, record), said) for record in universe[first:last]]
        match draw(st.integers(0, 5)):
            case 0:
                lines.append(Line(None, data=draw(st.sampled_from(GARBAGE))))
            case 1:
                lines.append(Line(draw(st.sampled_from(NOTES)), session))
            case 2:
                lines.append(Line(draw(st.sampled_from(NOTES))))
    return lines


def _places(session: str) -> tuple[Path, ...]:
    return (
        PROJECT / f"{session}.jsonl",
        PROJECT / f"{session}.jsonl",
        PROJECT / f"{session}.jsonl",
        MOVED / f"{session}.jsonl",
        PROJECT / SESSIONS[0] / "subagents" / f"agent-{session}.jsonl",
        PROJECT / f"agent-{session}.jsonl",
    )


@st.composite
def families(draw: st.DrawFn, most_files: int = 4) -> list[File]:
    universe = draw(universes())
    files: dict[Path, File] = {}
    for number in range(draw(st.integers(1, most_files))):
        session = SESSIONS[number]
        place = draw(st.sampled_from(_places(draw(st.sampled_from((session, session, "anna"))))))
        if place in files:
            place = PROJECT / f"{session}.jsonl"
        file = files.setdefault(place, File(place))
        file.lines += draw(_stretches(universe, session if "agent-" not in place.name else "anna"))
        if place.parent == PROJECT and "agent-" in place.name:
            # What precedes the first line of the conversation waits for it, for ever if need be.
            while file.lines and not (file.lines[0].record or {}).get("uuid"):
                file.lines.pop(0)
        if draw(st.integers(0, 4)) == 0:
            file.torn = draw(st.sampled_from((b'{"type":"user"', b"\xc3", b" ")))
        if "subagents" in place.parts and draw(st.booleans()):
            files[place.with_suffix(".meta.json")] = _meta(draw, place)
    return list(files.values())


@st.composite
def forks(draw: st.DrawFn) -> list[File]:
    """Sessions that share their beginnings, or one another's, and each go on; clocks may jump."""
    made = 0
    files: list[File] = []
    for number in range(draw(st.integers(2, 3))):
        session = SESSIONS[number]
        lines: list[Line] = []
        if files:
            origin = draw(st.sampled_from(files)).lines
            copied = origin[: draw(st.integers(min(1, len(origin)), len(origin)))]
            lines = [Line(line.record, session) for line in copied]
        for _ in range(draw(st.sampled_from((1, 2, 3, 0)))):
            lines.append(Line(_turn(draw, made, lines), session))
            made += 1
        files.append(File(PROJECT / f"{session}.jsonl", lines))
    draw(st.randoms(use_true_random=False)).shuffle(files)
    return files


def _turn(draw: st.DrawFn, number: int, before: list[Line]) -> dict[str, object]:
    record: dict[str, object] = {"uuid": uuid_of(number), "parentUuid": None}
    if before:
        parent = draw(st.sampled_from((before[-1], before[-1], *before)))
        record["parentUuid"] = (parent.record or {})["uuid"]
    minute = draw(st.sampled_from((number, number, 0, 1, 3, 5, 9, None)))
    if minute is not None:
        record["timestamp"] = format_time(_START + minute * 60_000)
    return {**record, **_content(draw, number)}


@st.composite
def trees(draw: st.DrawFn) -> list[File]:
    """One session that was rewound again and again."""
    lines: list[Line] = []
    for number in range(draw(st.integers(3, 10))):
        record = {**_turn(draw, number, lines), "timestamp": format_time(_START + number * 1000)}
        if draw(st.booleans()):
            words = {"role": "user", "content": f"prompt {number}"}
            record |= {"type": "user", "message": words}
        lines.append(Line(record, SESSIONS[0]))
    # In two files, as after a move of the project, the second may be found first.
    cut = draw(st.sampled_from((len(lines), len(lines), len(lines) // 2)))
    name = f"{SESSIONS[0]}.jsonl"
    files = [File(PROJECT / name, lines[:cut]), File(MOVED / name, lines[cut:])]
    return [file for file in files if file.lines]


@st.composite
def thefts(draw: st.DrawFn) -> list[File]:
    """Sessions that repeat each other's ids, and their own, often with another content."""
    family = draw(st.one_of(forks(), families(most_files=3)))
    for file in family:
        lines = list(file.lines)
        if lines and draw(st.booleans()):
            lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(lines)))
        file.lines = [_stolen(draw, line) for line in lines]
    return family


@st.composite
def strangers(draw: st.DrawFn) -> list[File]:
    """Sessions beside unrelated ones that have the same response ids, and reports with them.

    Now and then an unrelated session copies a line of another one under a new uuid.
    """
    family = draw(st.one_of(forks(), families(most_files=2)))
    copied = [line.record for file in family for line in file.lines if line.record]
    for number in range(draw(st.integers(1, 2))):
        session = STRANGERS[number]
        lines: list[Line] = []
        for place in range(draw(st.integers(1, 4))):
            record = _turn(draw, 1000 * (number + 1) + place, lines)
            if copied and draw(st.booleans()):
                record = {**draw(st.sampled_from(copied)), "uuid": record["uuid"]}
            lines.append(Line(record, session))
        names = f"{session}.jsonl", f"{SESSIONS[0]}/subagents/agent-{session}.jsonl"
        family.append(File(PROJECT / draw(st.sampled_from(names)), lines))
    return family


def _stolen(draw: st.DrawFn, line: Line) -> Line:
    if line.record is None or "uuid" not in line.record or draw(st.integers(0, 2)):
        return line
    words = draw(st.sampled_from(("stolen", "stolen again", "stolen")))
    record = {**line.record, "type": "user", "message": {"role": "user", "content": words}}
    if draw(st.booleans()):
        record["timestamp"] = "1999-01-01T00:00:00Z"
    return Line(record, line.session)


def _meta(draw: st.DrawFn, place: Path) -> File:
    meta = {"toolUseId": "call1", "spawnDepth": draw(st.integers(1, 2)), "description": "look"}
    if draw(st.booleans()):
        meta["parentAgentId"] = draw(st.sampled_from(SESSIONS))
    return File(place.with_suffix(".meta.json"), torn=json.dumps(meta).encode())


@dataclass
class Step:
    """How many bytes of which file are there by the next sync; ``syncs`` says if one follows."""

    place: Path
    size: int
    syncs: bool


@st.composite
def arrivals(draw: st.DrawFn, family: list[File]) -> list[Step]:
    """The files of a family in any order, each cut anywhere and grown in up to four steps."""
    parts: list[tuple[Path, int]] = []
    for file in family:
        size = len(file.data)
        cuts = {size}
        if size:
            ends = [place + 1 for place, byte in enumerate(file.data) if byte == 10] or [size]
            anywhere = st.one_of(st.sampled_from(ends), st.integers(0, size - 1))
            cuts |= set(draw(st.lists(anywhere, min_size=1, max_size=4)))
        parts += [(file.place, cut) for cut in sorted(cuts)]
    order = draw(st.permutations(range(len(parts))))
    # A file only grows: whatever the order drawn, its parts come by size.
    waiting = {file.place: [p for p in parts if p[0] == file.place] for file in family}
    turns = [waiting[parts[index][0]].pop(0) for index in order]
    return [Step(place, size, draw(st.integers(0, 5)) < 5) for place, size in turns]
