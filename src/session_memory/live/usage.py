"""Record the usage of model calls: one row for each call; totals are sums over the rows."""

from collections.abc import Mapping
from typing import Any

from session_memory.live.arguments import MOST, mapping, text, whole
from session_memory.live.compaction import MOST_TOKENS, cache_tokens, input_tokens, output_tokens
from session_memory.live.connection import LiveConnection, is_usable, now
from session_memory.live.rows import UsageRow

_SESSION = "select id, send_index from live_sessions where session_id = :session"
_SEND = """
    update live_sessions set send_index = send_index + 1, round_index = 0, updated_at = :now,
        revision = revision + 1
    where session_id = :session and status = 'active'{guard}
    returning send_index
"""
# No status check: the usage of a late answer counts even if the session was closed meanwhile.
_HOLD = """
    update live_sessions set revision = revision + 1 where session_id = :session{guard}
    returning id, send_index, model
"""
_COLUMNS = (
    "session_key",
    "send_index",
    "round_index",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "model",
    "created_at",
)
_ROWS = f"""
    select {", ".join("u." + name for name in _COLUMNS[1:])} from live_usage u
    where u.session_key = :key order by u.id
"""
_FIGURES = (
    *("prompt_tokens", "completion_tokens", "total_tokens"),
    *("cache_read_tokens", "cache_write_tokens"),
)
# A larger figure is stored as it was passed, but no sum includes it, neither here nor in `cost`.
_SUMS = ", ".join(
    f"coalesce(sum(case when {name} between 0 and {MOST_TOKENS} then {name} end), 0)"
    for name in _FIGURES
)
_TOTALS = f"select count(*), {_SUMS} from live_usage where session_key = :key"
_NAMES = ("llm_calls", *_FIGURES)


class UsageOperations(LiveConnection):
    def begin_send(self, session_id: str, *, fence: int | None = None) -> int:
        """Start a new send and return its number. Later usage belongs to it."""
        with self._writing():
            [sent] = self._change(_SEND, session_id, fence)
            return int(sent)

    def record_usage(
        self,
        session_id: str,
        *,
        round_index: int,
        prompt_tokens: int | None = None,
        completion_tokens: int | None = None,
        total_tokens: int | None = None,
        model: str | None = None,
        send_index: int | None = None,
        usage: Mapping[str, Any] | None = None,
        fence: int | None = None,
    ) -> None:
        """Add the usage of one model call. Nothing is replaced.

        ``usage`` is the provider's own record; it supplies the figures that are not passed. Without
        ``model``, the usage belongs to the session's model.
        """
        if usage is not None:
            mapping(usage, "usage")
        figures = {
            "round_index": round_index,
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": total_tokens,
            "send_index": send_index,
        }
        for name, figure in figures.items():
            if figure is not None:
                whole(figure, name)
        read, written = cache_tokens(usage)
        prompt = input_tokens(usage) if prompt_tokens is None else prompt_tokens
        completion = output_tokens(usage) if completion_tokens is None else completion_tokens
        if total_tokens is None and prompt is not None and completion is not None:
            total_tokens = prompt + completion
        params = tuple(_stored(figure) for figure in (prompt, completion, total_tokens))
        params += (_stored(read), _stored(written))
        used = None if model is None else text(model, "model")
        with self._writing():
            key, sent, own_model = self._change(_HOLD, session_id, fence)
            sent = sent if send_index is None else send_index
            row = (key, sent, round_index, *params, used or own_model, now())
            self._db.insert_one("live_usage", _COLUMNS, row)

    def list_usage(self, session_id: str) -> list[UsageRow]:
        with self._reading():
            rows = self._db.all(_ROWS, {"key": self._used(session_id)[0]})
        return [
            UsageRow(session_id=session_id, **dict(zip(_COLUMNS[1:], row, strict=True)))
            for row in rows
        ]

    def usage_totals(self, session_id: str) -> dict[str, int]:
        """Return the sums over all sends of the session, with the number of model calls."""
        with self._reading():
            key, sent = self._used(session_id)
            sums = self._db.one(_TOTALS, {"key": key}) or ()
        return {"sends": sent, **{n: int(v) for n, v in zip(_NAMES, sums, strict=True)}}

    def _used(self, session_id: str) -> tuple[int, int]:
        found = self._db.one(_SESSION, {"session": session_id}) if is_usable(session_id) else None
        if found is None:
            raise self._unknown(session_id)
        return found[0], found[1]


def _stored(figure: int | None) -> int | None:
    """Limit a figure to what the database can hold, because a sum of two may be larger."""
    return None if figure is None else max(-MOST, min(figure, MOST))
