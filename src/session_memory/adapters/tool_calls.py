"""Build the event of a tool call, for agents whose tools take named arguments."""

from collections.abc import Mapping, Sequence

from session_memory.adapters.base import NativeEvent
from session_memory.adapters.detectors import best_argument, is_test_run, shell_edit, shell_text
from session_memory.core.text import one_line

DESCRIPTIVE = ("description", "pattern", "query", "url", "prompt", "command", "name")


def call_event(
    call_id: str | None,
    tool: str,
    arguments: object,
    native_kind: str,
    *,
    path: str | None = None,
    is_edit: bool = False,
    described_by: Sequence[str] = DESCRIPTIVE,
) -> NativeEvent:
    """Return the event of a call. Its kind is ``test_run`` or ``edit`` if the call is one (then it
    has the mark ``tool_call``), else ``tool_call``.

    - ``path``: the file that the arguments name.
    - ``is_edit``: whether the tool changes files. For a shell command, this and the path are found
      in the command.
    - ``described_by``: the names of arguments that may serve as a summary, the best first.
    """
    command = shell_text(tool, arguments)
    kinds, summary = ["tool_call"], ""
    if command is not None:
        summary, edited = command, shell_edit(command)
        if edited is not None:
            kinds.insert(0, "edit")
            path = edited or None
        if is_test_run(command):
            kinds.insert(0, "test_run")
    else:
        if not path and isinstance(arguments, Mapping):
            summary = best_argument(arguments, described_by)
        if is_edit:
            kinds.insert(0, "edit")
    return NativeEvent(
        kinds[0],
        "assistant",
        one_line(summary) if summary else "",
        native_kind,
        marks=tuple(kinds[1:]),
        tool=tool or None,
        call_id=call_id,
        path=path,
        arguments=arguments,
        is_shell=command is not None,
    )
