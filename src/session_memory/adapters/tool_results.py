"""Build the event of a tool's result, in the same way for all adapters."""

from session_memory.adapters.base import NativeEvent


def result_event(
    call_id: str | None,
    summary: str,
    native_kind: str = "",
    *,
    failed: bool,
    marks: tuple[str, ...] = (),
) -> NativeEvent:
    """Return the event of a result: a ``tool_result``; if it ``failed``, an ``error`` with the mark
    ``tool_result``.

    ``marks`` are added to its marks. The caller sets the rest: text, duration, exit code.
    """
    if failed:
        marks = ("tool_result", *marks)
    kind = "error" if failed else "tool_result"
    return NativeEvent(
        kind, "tool", summary, native_kind, marks=marks, call_id=call_id, is_error=failed
    )
