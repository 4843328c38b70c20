"""Find what resolved an error before: the same error, in this repository, by a change that held.

In doubt there is no answer, because a wrong one costs the model more than none.
"""

from session_memory.hooks.checkout import light_names
from session_memory.learn.digest.error_lines import ErrorLine
from session_memory.learn.digest.fingerprints import fingerprint, normalized
from session_memory.learn.digest.output_errors import errors_in_output, was_stopped
from session_memory.learn.digest.runner_lines import STATUS_LINE
from session_memory.store.stored_fixes import ErrorOfSession, StoredFixes

TYPE_CHECKING = False  # As in `agents`.
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MOST_READ = 6
KINDS = frozenset({"edit", "command", "instead"})
CERTAINTIES = ("certain", "likely")
LEAST_LETTERS = 12


class KnownFix:
    """An error and what resolved it in a session. ``show`` takes ``ref``."""

    def __init__(self, one: ErrorOfSession, error: "dict[str, Any]", version: int, ref: str):
        self.session_uid, self.repo, self.ended = one.uid, one.repo, one.ended
        self.fingerprint = one.fingerprint
        self.sample: str = error["sample"]
        self.call: str = error["call"]
        self.how: dict[str, Any] = error["resolution"]
        self.version = version
        self.ref = ref


def marks_of(text: str, *, failed: bool) -> list[str]:
    """The fingerprints of the errors in an output, as analysis would store them."""
    if was_stopped(text):
        return []
    found = errors_in_output(text, failed=failed, masked=False)
    return list(dict.fromkeys(fingerprint(one.text) for one in found if _tells(one)))


def _tells(error: ErrorLine) -> bool:
    """Whether a line says what is wrong, and not only that something is."""
    if STATUS_LINE.match(error.text):
        return False
    words = normalized(error.text)
    return sum(map(str.isalpha, words)) - words.count("<path>") * 4 >= LEAST_LETTERS


def known_fix(stored: StoredFixes, marks: "list[str]", cwd: str, session: str) -> KnownFix | None:
    """The newest certain fix of one of the errors, of another session in this repository."""
    if not marks:
        return None
    found = [one for one in stored.errors(marks) if one.how in KINDS and not _is_of(one, session)]
    if not found:
        return None
    names = light_names(cwd)
    here = [one for one in found if one.repo is not None and one.repo in names]
    fixes = list(_held(stored, here[:MOST_READ]))
    order = {mark: place for place, mark in enumerate(marks)}
    fixes.sort(
        key=lambda one: (
            CERTAINTIES.index(one.how["certainty"]),
            -one.ended,
            order[one.fingerprint],
        )
    )
    return fixes[0] if fixes else None


def _is_of(one: ErrorOfSession, session: str) -> bool:
    """Whether it is of the asking session or of one of its subagents."""
    native = one.uid.partition(":")[2]
    return bool(session) and (native == session or native.startswith(f"{session}:"))


def _held(stored: StoredFixes, found: "list[ErrorOfSession]") -> "Iterator[KnownFix]":
    for one in found:
        digest = stored.digest(one.uid)
        errors = digest.get("error_snippets", ())
        error = next((e for e in errors if e["fingerprint"] == one.fingerprint), None)
        if error is None or not error.get("resolution") or error.get("origin", "call") != "call":
            continue
        how = error["resolution"]
        if how.get("certainty") not in CERTAINTIES or not how.get("text"):
            continue
        undone = {uid for undo in digest.get("undone", ()) for uid in undo["event_uids"]}
        if undone.intersection(how["event_uids"]):
            continue
        ref = _ref_if_held(stored, one, error)
        if ref is not None:
            yield KnownFix(one, error, digest.get("version", 0), ref)


def _ref_if_held(stored: StoredFixes, one: ErrorOfSession, error: "dict[str, Any]") -> str | None:
    """The reference of the fix; None if the error came back after it."""
    how = error["resolution"]
    failed, fixed = error["event_uids"], how["event_uids"]
    places = stored.places(one.uid, [*failed, *fixed[:1], how["succeeded"]])
    name = stored.short_name(one.uid)
    if how["succeeded"] not in places:
        # An evicted session has only its digest.
        return name if error["count"] == 1 else None
    if error["count"] > len(failed):
        return None
    if any(places.get(uid, 0) > places[how["succeeded"]] for uid in failed):
        return None
    return f"{name}#{places[fixed[0]]}" if fixed and fixed[0] in places else name
