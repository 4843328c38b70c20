"""Translate the calls of a conversation into calls of another agent's own tools."""

import json
import shlex
from collections.abc import Callable, Iterator
from posixpath import isabs, join, normpath
from typing import Any

import msgspec

from session_memory.core.handing import (
    FileContent,
    FileEdit,
    FileRead,
    HandedAnswer,
    HandedCall,
    HandedPrompt,
    HandedStep,
    Operation,
    RunCommand,
)
from session_memory.derive.detecting import operations_of
from session_memory.handoff.conversation import StoredAnswer, StoredCall, StoredStep

Tool = Callable[[Operation], tuple[str, dict[str, Any] | str]]
"""A function that returns the target's tool for an operation, and the arguments of the call."""


class Mapping(msgspec.Struct):
    """Translates steps for the target agent.

    ``without_tool`` counts, by tool, the calls for which the target has no tool. Such a call
    becomes a comment in a shell command that does nothing.
    """

    tool: Tool
    new_id: Callable[..., str]
    cwd: str
    is_same_agent: bool
    calls: int = 0
    without_tool: dict[str, int] = {}

    def steps(self, stored: list[StoredStep]) -> tuple[HandedStep, ...]:
        return tuple(map(self._step, stored))

    def _step(self, step: StoredStep) -> HandedStep:
        if not isinstance(step, StoredAnswer):
            return HandedPrompt(step.text)
        calls = tuple(handed for call in step.calls for handed in self._call(call))
        return HandedAnswer("\n\n".join(step.texts), calls)

    def _call(self, call: StoredCall) -> Iterator[HandedCall]:
        self.calls += 1
        for part, (tool, arguments) in enumerate(self._made(call)):
            # Some agents take an id and the same id with a suffix for one call.
            yield HandedCall(
                call_id=f"call_{self.new_id('call', self.calls, part)[:24]}",
                tool=tool,
                arguments=arguments,
                result=call.result,
                failed=call.failed,
            )

    def _made(self, call: StoredCall) -> list[tuple[str, dict[str, Any] | str]]:
        if self.is_same_agent and isinstance(call.arguments, dict | str):
            return [(call.tool, call.arguments)]
        operations = operations_of(call.tool, call.arguments, list(call.changes))
        if not operations:
            self.without_tool[call.tool] = self.without_tool.get(call.tool, 0) + 1
            operations = [RunCommand(_comment(call))]
        return [self.tool(self._placed(one)) for one in operations]

    def _placed(self, operation: Operation) -> Operation:
        """Return the operation with an absolute path, because agents may refuse a relative one."""
        match operation:
            case FileContent() | FileEdit() | FileRead() if not isabs(operation.path):
                path = normpath(join(self.cwd, operation.path))
                return msgspec.structs.replace(operation, path=path)
        return operation


def _comment(call: StoredCall) -> str:
    """Return a shell comment that says what was called. It is one line, so nothing ends it."""
    given = call.arguments if isinstance(call.arguments, dict) else {"input": call.text}
    return f"# {shlex.quote(call.tool)} {json.dumps(given, ensure_ascii=True, default=str)}"
