"""Errors: one tree, each with a fact to read and something to do."""

import pickle
import re
from typing import Any

import pytest

from session_memory.core import errors, lesson_errors, live_errors
from session_memory.core.errors import (
    AdapterError,
    AdapterFailed,
    AdapterUnusable,
    AmbiguousSession,
    AnalysisFailed,
    ArchiveError,
    CannotForget,
    CannotHandOver,
    CannotResume,
    ConfigError,
    CopyUnfinished,
    IndexTaken,
    InvalidId,
    InvalidRecord,
    InvalidTime,
    LakeError,
    MissingExtra,
    NetworkFilesystem,
    NewerSchema,
    NoSuchLine,
    NotAStore,
    NotEmpty,
    SessionEvicted,
    SessionMemoryError,
    SourceError,
    SourceUnreadable,
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreNotFound,
    UnknownEvent,
    UnknownFlavor,
    UnknownPattern,
    UnknownSession,
    UnsafePath,
)
from session_memory.core.lesson_errors import (
    BrokenLesson,
    BrokenMarkers,
    LessonError,
    NotApplied,
    TooLittleEvidence,
    UnknownLesson,
)
from session_memory.core.live_errors import (
    CannotFold,
    CannotUnfold,
    HeadMoved,
    LeaseHeld,
    LeaseLost,
    LiveError,
    NothingToUndo,
    NotOnPath,
    SessionClosed,
    SessionExists,
    SessionInUse,
    SpawnTooDeep,
    UnknownLiveSession,
)
from session_memory.core.text import short_repr

EXAMPLES = (
    SessionMemoryError("it broke", "Mend it."),
    InvalidRecord("seq must be 0 or more, not -1", field="seq"),
    InvalidId("flavor is empty", field="flavor"),
    InvalidTime("ts is no time", field="ts"),
    StoreError("it broke"),
    StoreNotFound("/a/memory.db"),
    NewerSchema("/a/memory.db", found=9, known=3),
    StoreClosed("/a/memory.db"),
    StoreBusy("/a/memory.db"),
    StoreFull("/a/memory.db"),
    NotAStore("/tmp/notes.txt", "it is not an SQLite database"),
    StoreDamaged("pack 7", "its hash does not match"),
    IndexTaken("/a/memory.db"),
    NetworkFilesystem("/a/memory.db", "nfs4"),
    NotEmpty("/a"),
    UnknownSession("claude:abd", near=["claude:abc", "claude:abe"]),
    AmbiguousSession("2 sessions begin with ab"),
    SessionEvicted("claude:abc", "2026-11-15-0001.tar"),
    ArchiveError("/a/archive is not there"),
    CannotForget("live session b continues the messages of a"),
    LakeError("there is no table events"),
    UnknownEvent("claude:a has no event 'zz'", "claude:a"),
    UnknownPattern("p-0c88", near=["p-0c88102dbf64"]),
    LiveError("it broke"),
    UnknownLiveSession("sess_1"),
    SessionExists("sess_1"),
    SpawnTooDeep("sess_1", 4, 3),
    NotOnPath("sess_1", 7),
    SessionClosed("sess_1", "archived"),
    SessionInUse("session sess_1 is running", "Close it first."),
    HeadMoved("sess_1", expected=3, found=4),
    LeaseHeld("sess_1", "another", 1500),
    LeaseLost("sess_1", fence=1, held=2),
    CannotFold("sess_1", "message 3 is not in the context"),
    CannotUnfold("sess_1", 2, "it was undone"),
    NothingToUndo("sess_1"),
    SourceError("it broke"),
    SourceUnreadable("/a/log.jsonl", "permission denied"),
    AdapterError("it broke"),
    UnknownFlavor("cloude", near=["claude"]),
    AdapterUnusable("toy", "no adapter is installed for it"),
    AdapterFailed("toy", ImportError("no module named toys"), "/a/log.jsonl"),
    ConfigError("no such key: roots"),
    LessonError("it broke"),
    UnknownLesson("l-0c88", near=["l-0c88102dbf64"]),
    BrokenLesson("/a/l-0c88102dbf64.md", "its version is no number"),
    TooLittleEvidence("p-0c88102dbf64", found=1, needed=3, setting="distribute_sessions"),
    BrokenMarkers("/a/CLAUDE.md", "BEGIN stands twice"),
    NotApplied("/a/CLAUDE.md"),
    AnalysisFailed({"claude:a": "KeyError: 'b'", "claude:b": "it broke"}),
    CannotResume("the command that resumes a session of skill is not known", "Read it instead."),
    CannotHandOver("a session cannot be handed over to skill", "Print it as a text: --as text"),
    NoSuchLine("src/app.py has 12 lines", "Name one of them: src/app.py:1"),
    MissingExtra("openai-agents"),
    UnsafePath("/a/log.jsonl exists already"),
    CopyUnfinished("/a/memory.db"),
)
each_error = pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: error.kind)


def tree(cls: type[Any], depth: int = 0) -> list[tuple[int, str]]:
    below = [line for child in cls.__subclasses__() for line in tree(child, depth + 1)]
    return [(depth, cls.__name__), *below]


def test_the_tree_at_the_top_of_the_module_is_the_tree() -> None:
    roots = {errors: SessionMemoryError, lesson_errors: LessonError, live_errors: LiveError}
    for module, root in roots.items():
        drawn = re.findall(r"^    ((?:[│├└─ ]{4})*)(\w+)", module.__doc__ or "", re.MULTILINE)
        ours = [
            (depth, name) for depth, name in tree(root) if getattr(module, name, None) is not None
        ]
        assert [(len(indent) // 4, name) for indent, name in drawn] == ours


def test_every_error_has_an_example_here() -> None:
    assert {type(error).__name__ for error in EXAMPLES} >= {
        name
        for _, name in tree(SessionMemoryError)
        if any(hasattr(module, name) for module in (errors, lesson_errors, live_errors))
    }


@each_error
def test_an_error_survives_the_way_out_of_a_worker_process(error: SessionMemoryError) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), str(back), vars(back)) == (type(error), str(error), vars(error))
    assert back.hint == error.hint


@each_error
def test_a_message_is_a_lower_case_fact_and_a_hint_a_sentence(error: SessionMemoryError) -> None:
    assert not str(error)[0].isupper()
    assert error.hint is None or error.hint[0].isupper()


def test_the_kind_is_the_name_in_snake_case() -> None:
    assert SessionMemoryError.kind == "session_memory_error"
    assert NetworkFilesystem("/a", "nfs4").kind == "network_filesystem"
    assert InvalidId.kind == "invalid_id"


def test_a_hint_of_the_moment_replaces_the_usual_one() -> None:
    assert UnsafePath("/a exists already", "Remove it.").hint == "Remove it."
    assert UnsafePath("/a exists already").hint == UnsafePath.hint


def test_a_refused_record_is_a_value_error_that_names_its_field() -> None:
    error = InvalidTime("ts must be a time, not 'x'", field="ts")
    assert isinstance(error, ValueError)
    assert error.field == "ts"


def test_a_refusal_further_inside_names_the_way_there() -> None:
    error = InvalidId("flavor is empty", "Name one.", field="flavor").within("session")
    assert (type(error), str(error)) == (InvalidId, "session.flavor is empty")
    assert (error.field, error.hint) == ("session.flavor", "Name one.")


def test_an_unknown_session_says_which_ones_are_near() -> None:
    assert UnknownSession("claude:abd", ["claude:abc"]).hint == "Did you mean claude:abc?"
    assert "session-memory sessions" in (UnknownSession("claude:abd").hint or "")


def test_a_shown_value_is_short_and_cannot_move_the_cursor() -> None:
    assert short_repr("a\x1b[2J\n\ud800") == r"'a\x1b[2J\n\ud800'"
    assert len(short_repr("x" * 10_000)) < 100
    assert short_repr(10**5000)
