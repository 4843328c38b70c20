"""A call that is read in one sync and its result in the next: they still belong together."""

import pytest

from session_memory.core.schema import SessionEvent
from session_memory.store import Store
from session_memory.testing.claude import ClaudeHome, call
from session_memory.testing.collecting import (
    check_same,
    collect,
    collected,
    contents,
    events_of,
    new_store,
)

FAILED = "No such file or directory"


def calls(store: Store, uid: str) -> list[SessionEvent]:
    return [event for event in events_of(store, uid) if event.is_a("tool_call")]


@pytest.mark.parametrize(
    ("command", "kind"), [("ls missing", "retry"), ("ls elsewhere", "tool_call")]
)
def test_a_call_is_compared_with_one_whose_result_came_in_a_later_sync(
    claude: ClaudeHome, command: str, kind: str
) -> None:
    """The arguments of an open call are not saved. Its key is, or no later call can be a retry."""
    log = claude.session("alpha")
    log.prompt("look")
    with new_store() as store:
        log.answer(call("Bash", command="ls missing"))
        collect(store, claude.write())
        log.result(FAILED, is_error=True)
        collect(store, claude.write())
        log.answer(call("Bash", command=command))
        log.result("fine")
        collect(store, claude.write())
        assert [event.kind for event in calls(store, log.uid)] == ["tool_call", kind]
        with collected(claude.write()) as at_once:
            check_same(contents(at_once), contents(store))


def test_a_success_in_a_later_sync_ends_the_retries(claude: ClaudeHome) -> None:
    """A call that failed, was tried again and succeeded in a later sync may be made again."""
    log = claude.session("alpha")
    log.prompt("look")
    log.answer(call("Bash", command="ls missing"))
    log.result(FAILED, is_error=True)
    with new_store() as store:
        log.answer(call("Bash", command="ls missing"))
        collect(store, claude.write())
        log.result("found it")
        collect(store, claude.write())
        log.answer(call("Bash", command="ls missing"))
        log.result("found it")
        collect(store, claude.write())
        kinds = [event.kind for event in calls(store, log.uid)]
        assert kinds == ["tool_call", "retry", "tool_call"]
        with collected(claude.write()) as at_once:
            check_same(contents(at_once), contents(store))
