"""The event of a tool's result. Every adapter makes it here, so that all of them agree."""

from session_memory.adapters.base import NativeEvent


def result_event(
    call_id: str | None,
    summary: str,
    native_kind: str = "",
    *,
    failed: bool,
    marks: tuple[str, ...] = (),
) -> NativeEvent:
    """A ``tool_result``, or an ``error`` that is marked as one. ``marks`` are further kinds.

    The caller sets everything else in the log about the result: text, duration, exit code.
    """
    if failed:
        marks = ("tool_result", *marks)
    kind = "error" if failed else "tool_result"
    return NativeEvent(
        kind, "tool", summary, native_kind, marks=marks, call_id=call_id, is_error=failed
    )
