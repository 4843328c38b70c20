"""A session of mycode as a history that a live session can continue."""

from collections.abc import Iterable
from typing import Any

from session_memory.adapters import jsonl
from session_memory.adapters.conversation import text_of
from session_memory.adapters.mycode.visible import Visible
from session_memory.core.history import FoldStep, History, HistoryStep, MessageStep, RewindStep


def history(
    log: Iterable[dict[str, Any]], documents: list[bytes], name: str | None, uid: str | None
) -> History:
    """The messages, compactions and rewinds of a log, and what ``meta.json`` says about it."""
    uid = uid or f"mycode:{name}"
    replay = _Replay()
    for record in log:
        replay.add(record)
    return History(uid, uid.partition(":")[2], replay.steps, _about(documents))


def _about(documents: list[bytes]) -> dict[str, str]:
    try:
        meta = jsonl.decode_anything(documents[0]) if documents else {}
    except ValueError:
        meta = {}
    facts = meta if isinstance(meta, dict) else {}
    names = ("title", "cwd", "model", "provider", "api_base")
    return {name: facts[name] for name in names if isinstance(facts.get(name), str)}


class _Replay:
    """Follows the log line by line, with the list of messages that mycode would show."""

    def __init__(self) -> None:
        self.steps: list[HistoryStep] = []
        self._visible = Visible()
        self._folds: list[int] = []

    def add(self, record: dict[str, Any]) -> None:
        number = self._visible.lines
        self._visible.lines += 1
        meta = record.get("meta")
        facts = meta if isinstance(meta, dict) else {}
        match record.get("role"):
            case "rewind":
                self._rewind(facts.get("rewind_to", 0))
            case "compact":
                self.steps.append(FoldStep(number, text_of(record.get("content"))))
                self._folds.append(number)
                if "compacted_count" in facts:
                    self._visible.runs = [(number, number)] * 2
                else:
                    self._visible.add(number)
            case str(role):
                message = {"role": role, "content": record.get("content"), "meta": facts}
                self.steps.append(MessageStep(number, message))
                self._visible.add(number)

    def _rewind(self, to: Any) -> None:
        if isinstance(to, bool) or not isinstance(to, int):
            return
        self._visible.cut(to)
        shown = self._visible.runs
        gone = [n for n in self._folds if not any(a <= n <= b for a, b in shown)]
        self._folds = [number for number in self._folds if number not in gone]
        self.steps.append(RewindStep(self._visible.last, tuple(gone)))
