"""Translate one line of a Claude Code log into one record, by the type of the line."""

from zlib import crc32

from session_memory.adapters.base import Record, SourceRef
from session_memory.adapters.claude.assistant import assistant_line
from session_memory.adapters.claude.blocks import MOST_BLOCKS, blocks, text_or_none
from session_memory.adapters.claude.ids import agent_session, fit, record_id, session_of
from session_memory.adapters.claude.kinds import BOOKKEEPING
from session_memory.adapters.claude.lines import ClaudeMessage, decode
from session_memory.adapters.claude.other_lines import (
    attachment_line,
    bookkeeping_line,
    cost_line,
    mode_line,
    progress_line,
    queue_line,
    system_line,
    title_line,
    unknown_line,
    worktree_line,
)
from session_memory.adapters.claude.user import user_line
from session_memory.adapters.documents import object_in
from session_memory.core.text import one_line
from session_memory.core.time import time_or_none

_DETAIL = 120


def from_line(ref: SourceRef, offset: int, length: int, line: bytes | None) -> Record:
    """Return the record of one line. For a line that cannot be read, the record has a problem."""
    if line is None:
        return Record(offset, length, session_of(ref, None), problem="line too long")
    try:
        native, lenient = decode(line)
        if length > MOST_BLOCKS and len(blocks(native.message or ClaudeMessage())) > MOST_BLOCKS:
            raise ValueError(f"a message of more than {MOST_BLOCKS:,} blocks")
    except ValueError as error:
        detail = one_line(str(error), _DETAIL)
        return Record(
            offset, length, session_of(ref, None), problem="malformed line", problem_detail=detail
        )
    record = Record(
        offset,
        length,
        session_of(ref, native),
        native_id=record_id(native.uuid),
        parent_id=native.parentUuid,
        ts=time_or_none(native.timestamp),
        is_sidechain=bool(native.isSidechain),
        cwd=native.cwd,
        git_branch=native.gitBranch,
        agent_version=native.version,
        lenient=lenient,
    )
    if record.session.startswith("x-") and record.session != (native.sessionId or ref.session):
        record.unfit_name = native.sessionId or ref.session
    if ref.agent:
        parent = native.sessionId or ref.session
        record.parent_session = fit(parent) if parent else None
    if record.native_id is None:
        record.check = crc32(line)
    _TRANSLATE.get(native.type, unknown_line)(native, record)
    return record


def from_meta(ref: SourceRef, body: bytes) -> Record:
    """Return the record with the facts in a subagent's ``.meta.json``."""
    record = Record(0, len(body), agent_session(ref.session, ref.agent))
    record.parent_session = ref.session or None
    meta = object_in(body, record)
    if meta is None:
        return record
    depth = meta.get("spawnDepth")
    parent = meta.get("parentAgentId")
    record.facts = {
        "spawn_call_id": text_or_none(meta.get("toolUseId")),
        "spawn_depth": depth if isinstance(depth, int) and 0 < depth < 1 << 31 else None,
        "parent": agent_session(ref.session, parent) if isinstance(parent, str) else None,
        "agent_name": text_or_none(meta.get("description")),
    }
    return record


def session_named_in(line: bytes | None) -> str | None:
    """Return the session that a line names; None if it names none or cannot be read."""
    try:
        return decode(line)[0].sessionId if line is not None else None
    except ValueError:
        return None


_TRANSLATE = {
    "assistant": assistant_line,
    "user": user_line,
    "system": system_line,
    "attachment": attachment_line,
    "progress": progress_line,
    "queue-operation": queue_line,
    "worktree-state": worktree_line,
    "cost-state": cost_line,
    "permission-mode": mode_line,
    "mode": mode_line,
    **dict.fromkeys(("custom-title", "ai-title", "agent-name", "summary"), title_line),
    **dict.fromkeys(BOOKKEEPING - {"progress"}, bookkeeping_line),
}
