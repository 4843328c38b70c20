"""Convert a session of mycode to a history that a live session can continue."""

from collections.abc import Iterable
from typing import Any

from session_memory.adapters import jsonl
from session_memory.adapters.conversation import text_of
from session_memory.adapters.mycode.documents import UNNAMED
from session_memory.adapters.mycode.translate import line_id, usage_in
from session_memory.adapters.mycode.visible import Visible
from session_memory.core.history import (
    FoldStep,
    History,
    HistoryStep,
    MessageStep,
    RewindStep,
    SessionFacts,
    UsageStep,
)
from session_memory.core.time import time_or_none

_NAMES = ("title", "cwd", "model", "provider", "api_base")


def history(
    log: Iterable[dict[str, Any]], documents: list[bytes], name: str | None, uid: str | None
) -> History:
    """Return the messages, compactions and rewinds of a log, with the facts in ``meta.json``.

    ``log`` has the objects of the log, ``documents`` the bytes of ``meta.json``, if there is one.
    """
    uid = uid or f"mycode:{name}"
    native = uid.partition(":")[2]
    replay = _Replay(native)
    for record in log:
        replay.add(record)
    meta = _meta(documents)
    return History(
        uid,
        native,
        replay.steps,
        {**replay.last_named, **_about(meta)},
        facts=SessionFacts(
            created_at=time_or_none(meta.get("created_at")),
            updated_at=time_or_none(meta.get("updated_at")),
        ),
        usage=replay.usage,
        are_whole=True,
    )


def _meta(documents: list[bytes]) -> dict[str, Any]:
    try:
        meta = jsonl.decode_anything(documents[0]) if documents else {}
    except ValueError:
        meta = {}
    return meta if isinstance(meta, dict) else {}


def _about(meta: dict[str, Any]) -> dict[str, Any]:
    about = {name: meta[name] for name in _NAMES if isinstance(meta.get(name), str)}
    if about.get("title") == UNNAMED:
        del about["title"]
    version = meta.get("message_format_version")
    return {**about, "metadata": {} if version is None else {"message_format_version": version}}


class _Replay:
    """Follows a log line by line. It knows which messages mycode would show after each line."""

    def __init__(self, session: str) -> None:
        self.steps: list[HistoryStep] = []
        self.usage: list[UsageStep] = []
        # The model and provider of the last answer. Since 0.5, only answers name them.
        self.last_named: dict[str, str] = {}
        self._session = session
        self._visible = Visible()
        self._folds: list[int] = []

    def add(self, record: dict[str, Any]) -> None:
        number = record.line if isinstance(record, jsonl.LineObject) else self._visible.lines
        self._visible.lines = number + 1
        meta = record.get("meta")
        facts = meta if isinstance(meta, dict) else {}
        at = time_or_none(facts.get("created_at"))
        native_id = line_id(self._session, number)
        match record.get("role"):
            case "rewind":
                self._rewind(facts.get("rewind_to", 0), at)
            case "compact":
                note = text_of(record.get("content"))
                fold = FoldStep(number, note, native_id=native_id, at=at, note_meta=facts)
                self.steps.append(fold)
                self._folds.append(number)
                if "compacted_count" in facts:
                    self._visible.runs = [(number, number)] * 2
                else:
                    self._visible.add(number)
                self._count(facts, native_id, at)
            case _:
                # mycode shows lines without a role too, and a rewind counts them.
                self.steps.append(MessageStep(number, dict(record), native_id, at))
                self._visible.add(number)
                self._count(facts, native_id, at)

    def _count(self, meta: dict[str, Any], native_id: str, at: int | None) -> None:
        named = {name: meta.get(name) for name in ("model", "provider")}
        self.last_named |= {n: v for n, v in named.items() if isinstance(v, str) and v}
        used = usage_in(meta, native_id)
        if used is None:
            return
        sent = used.input_tokens + used.cache_read_tokens + used.cache_write_tokens
        model = meta.get("model")
        step = UsageStep(
            native_id,
            model if isinstance(model, str) and model else None,
            at,
            prompt_tokens=sent,
            completion_tokens=used.output_tokens,
            total_tokens=sent + used.output_tokens,
            cache_read_tokens=used.cache_read_tokens,
            cache_write_tokens=used.cache_write_tokens,
        )
        self.usage.append(step)

    def _rewind(self, to: Any, at: int | None) -> None:
        if isinstance(to, bool) or not isinstance(to, int):
            return
        self._visible.cut(to)
        shown = self._visible.runs
        gone = [n for n in self._folds if not any(a <= n <= b for a, b in shown)]
        self._folds = [number for number in self._folds if number not in gone]
        self.steps.append(RewindStep(self._visible.last, tuple(gone), at))
