"""Facts about a session, kept apart by who wrote them."""

from session_memory.derive.facts import LOG_WRITER, facts_of, set_facts
from session_memory.store.sessions import CollectedSession


def session() -> CollectedSession:
    return CollectedSession(uid="claude:alpha", flavor="claude", native_id="alpha", state=b"")


def test_an_older_generation_of_a_document_does_not_replace_a_newer_one() -> None:
    row = session()
    set_facts(row, "document a", {"title": "second", "generation": 2})
    set_facts(row, "document a", {"title": "first", "generation": 1})
    assert facts_of(row)["title"] == "second"
    set_facts(row, "document a", {"title": "second, read again", "generation": 2})
    assert facts_of(row)["title"] == "second, read again"
    set_facts(row, "document a", {"title": "third", "generation": 3})
    assert facts_of(row)["title"] == "third"


def test_facts_without_a_generation_are_of_generation_0() -> None:
    row = session()
    set_facts(row, "document a", {"title": "first", "generation": 1})
    set_facts(row, "document a", {"title": "of no generation"})
    assert facts_of(row)["title"] == "first"
    set_facts(row, LOG_WRITER, {"cwd": "/one"})
    set_facts(row, LOG_WRITER, {"cwd": "/two"})
    assert facts_of(row)["cwd"] == "/two"


def test_facts_of_two_writers_do_not_depend_on_which_was_read_first() -> None:
    one, other = session(), session()
    for row, order in ((one, ("document a", "document b")), (other, ("document b", "document a"))):
        for writer in order:
            set_facts(row, writer, {"title": writer})
        set_facts(row, LOG_WRITER, {"title": "of the log", "cwd": "/log"})
    assert facts_of(one) == facts_of(other) == {"title": "document b", "cwd": "/log"}
    assert one.facts == other.facts
