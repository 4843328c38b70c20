"""A session in two files: the one that starts earlier comes first, whichever is found first."""

from session_memory.testing.claude import ClaudeHome, usage
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    collected,
    contents,
    events_of,
)


def test_the_earlier_file_may_be_found_later(claude: ClaudeHome) -> None:
    first = claude.session("alpha")
    first.prompt("one")
    first.answer("done", used=usage(5))
    second = claude.keep(first.moved("-home-mira-code-other"))
    second.prompt("two")
    second.answer("done too", used=usage(7))
    with collected(claude.write([second])) as store:
        collect(store, claude.write([first]))
        summaries = [event.summary for event in events_of(store, "claude:alpha")]
        assert summaries == ["one", "done", "two", "done too"]
        check_sound(store)
        with collected(claude.write()) as at_once:
            check_same(contents(at_once), contents(store))


def test_the_earlier_file_may_grow_after_the_later_one_was_read(claude: ClaudeHome) -> None:
    first = claude.session("alpha")
    first.prompt("one")
    second = claude.keep(first.moved("-home-mira-code-other"))
    second.prompt("two")
    with collected(claude.write()) as store:
        first.answer("done", used=usage(5))
        collect(store, claude.write())
        summaries = [event.summary for event in events_of(store, "claude:alpha")]
        assert summaries == ["one", "done", "two"]
        check_sound(store)
