"""Find the change that resolved the same error before, if the error did not come back after it.

Sessions of this repository are searched first, then those of other repositories. A fix from another
repository counts only if it does not depend on that repository: a tool was missing or called
wrongly.

In doubt there is no answer, because a wrong answer costs the model more than none.
"""

import os
import re

from session_memory.hooks.in_place import is_in_place
from session_memory.hooks.repository import all_names
from session_memory.learn.digest.error_lines import ErrorLine
from session_memory.learn.digest.fingerprints import fingerprint, normalized
from session_memory.learn.digest.output_errors import errors_in_output, was_stopped
from session_memory.learn.digest.runner_lines import STATUS_LINE
from session_memory.store.stored_fixes import ErrorOfSession, StoredFixes
from session_memory.views.checkout import light_names, root_of

TYPE_CHECKING = False  # As in `agents`.
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MOST_READ = 8
# If one error has this many fixes and all differ, none of them is given.
FEW = 3
LONGEST_GENERAL = 100
_MAY_BE_SECRET = re.compile(r"(?i)pass|pwd|token|secret|_key|api.?key|auth|bearer|@|[a-z0-9+]{24}")
_OF_TOOL = re.compile(
    r"(?i)command not found|not recognized as|no module named|illegal option|unknown option"
    r"|unrecognized (?:sub)?command|unrecognized option"
)
# A path, or a script of the repository.
_PLACE = re.compile(r"[/\\]|\.\w{1,4}\b|\brun\b|\bmake\b")
# Commands that a model should not get from a log, even if they helped once.
_RISKY = re.compile(
    r"(?i)\brm\s+-|\bsudo\b|\|\s*(?:ba|z)?sh\b|--force\b|--hard\b|--no-verify|\bmkfs|\bdd\s+if="
    r"|\bdrop\s+(?:table|database)|chmod\s+(?:-R\s+)?0?777|\bgit\s+push\b|\beval\b"
    r"|sandbox|dangerously|escalated"
)
_PLACEHOLDER = re.compile(r"<(?:path|url|id|time|address|name|hex)>")
# A change of the directory and variables before a command.
_BEFORE = re.compile(r"^(?:cd [^&;]{1,200}(?:&&|;)\s*|env |\w+=\S*\s+)+")
# The path of a file, with a directory or a line behind it.
_FILE = re.compile(r"[\w.-]*[/\\][\w./\\-]*\.\w{1,5}\b|[\w.-]+\.\w{1,5}(?=[:(]\d)")
_BETWEEN = re.compile(r"[\s;&|()\"']+")
KINDS = frozenset({"edit", "command", "instead"})
BY_ITSELF = "again"
CERTAINTIES = ("certain", "likely")
LEAST_LETTERS = 12


class KnownFix:
    """An error and what resolved it in a session. ``session-memory show`` takes its ``ref``."""

    def __init__(self, one: ErrorOfSession, error: "dict[str, Any]", version: int, ref: str):
        self.session_uid, self.repo, self.ended = one.uid, one.repo, one.ended
        self.fingerprint = one.fingerprint
        self.sample: str = error["sample"]
        self.call: str = error["call"]
        self.how: dict[str, Any] = error["resolution"]
        self.version = version
        self.ref = ref
        self.doubt = CERTAINTIES.index(self.how["certainty"])
        self.is_elsewhere = False

    @property
    def is_general(self) -> bool:
        """Whether the fix surely does not depend on its repository: a tool was missing, or was
        called wrongly, and the command that helped names no file."""
        text: str = self.how["text"]
        is_of_tool = bool(_OF_TOOL.search(self.sample)) and self.how["kind"] != "edit"
        return is_of_tool and len(text) <= LONGEST_GENERAL and not _PLACE.search(text)

    def is_of_other_file(self, line: str) -> bool:
        """Whether an edit resolved the error in another file than the one that has it now."""
        named, before = _files_in(line), _files_in(self.sample)
        return self.how["kind"] == "edit" and bool(named and before) and not named & before

    def is_of_other_program(self, words: "set[str]") -> bool:
        """Whether the fix is a changed call of one program, but now another program failed.

        False if a tool was missing: any script may call it."""
        if self.how["kind"] != "instead" or _OF_TOOL.search(self.sample):
            return False
        program = os.path.basename(_BEFORE.sub("", self.call).partition(" ")[0]).strip("…")
        return bool(program) and program not in words

    def is_in_place(self, root: str) -> bool:
        """Whether the fix is an edit that this checkout still has, although the error came back."""
        how = self.how
        return how["kind"] == "edit" and is_in_place(root, how["text"], how.get("lines", []))

    def is_like(self, other: "KnownFix") -> bool:
        """Whether both fixes edited the same file, or ran commands with the same first words."""
        mine, others = self._names, other._names
        return self.how["kind"] == other.how["kind"] and bool(mine & others)

    @property
    def _names(self) -> "set[str]":
        """The names of the edited files, or the first words of the command."""
        if self.how["kind"] == "edit":
            return {path.rpartition("/")[2] for path in self.how["text"].split(", ")}
        words = _BEFORE.sub("", self.how["text"]).split()
        return {" ".join(words[:3])}


def _files_in(line: str) -> "set[str]":
    """The names of the files in a line, without directories."""
    return {one.replace("\\", "/").rpartition("/")[2] for one in _FILE.findall(line)}


def marks_of(text: str) -> dict[str, str]:
    """The fingerprint of each error in the output of a failed command, with the error's line.

    Secrets are not masked here. Analysis masks them, so the fingerprint of a line with a secret
    differs from the stored one; `masked_marks_of` gives that. Empty if the command was stopped.
    """
    return {} if was_stopped(text) else _marks(errors_in_output(text, failed=True, masked=False))


def masked_marks_of(text: str) -> dict[str, str]:
    """The fingerprints of errors that may have a secret in them, which analysis masks.

    Masking takes longer to load than everything else, and few errors have a secret."""
    found = errors_in_output(text, failed=True, masked=False)
    if not any(_MAY_BE_SECRET.search(one.text) for one in found):
        return {}
    return _marks(errors_in_output(text, failed=True))


def _marks(found: "list[ErrorLine]") -> dict[str, str]:
    marks: dict[str, str] = {}
    for one in found:
        if _tells(one):
            marks.setdefault(fingerprint(one.text), one.text)
    return marks


def _tells(error: ErrorLine) -> bool:
    """Whether a line says what is wrong, and not only that something is wrong."""
    if STATUS_LINE.match(error.text):
        return False
    words = _PLACEHOLDER.sub("", normalized(error.text))
    return sum(map(str.isalpha, words)) >= LEAST_LETTERS


def known_fix(
    stored: StoredFixes, marks: "dict[str, str]", cwd: str, session: str, command: str
) -> KnownFix | None:
    """Return what resolved one of the errors in other sessions, or None.

    The first error with a fix counts. Of several fixes the most frequent one is taken, then the
    most certain and the newest. None if there are three fixes or more that all differ, or if the
    error went away by itself at least as often as this fix was used. ``marks`` has the line of each
    error by its fingerprint.
    """
    if not marks:
        return None
    found = [
        one
        for one in stored.errors(list(marks))
        if (one.how in KINDS or one.how == BY_ITSELF) and not _is_of(one, session)
    ]
    here = _of_repository(found, cwd) if found else []
    others = [one for one in found if one not in here]
    words = {os.path.basename(word) for word in _BETWEEN.split(command)}
    return _chosen(stored, marks, here, words, root_of(cwd)) or _chosen(
        stored, marks, others, words
    )


def _chosen(
    stored: StoredFixes,
    marks: "dict[str, str]",
    found: "list[ErrorOfSession]",
    words: "set[str]",
    root: str | None = None,
) -> KnownFix | None:
    """Choose a fix. ``found`` are errors of the repository at ``root``; if that is None, of others.

    ``words``: the words of the command that failed."""
    elsewhere = root is None
    for mark, line in marks.items():
        same = [one for one in found if one.fingerprint == mark and one.how in KINDS]
        by_itself = sum(one.fingerprint == mark and one.how == BY_ITSELF for one in found)
        fixes = [
            fix
            for fix in _held(stored, same[:MOST_READ])
            if not _RISKY.search(fix.how["text"])
            and (fix.is_general if root is None else not fix.is_in_place(root))
            and not fix.is_of_other_file(line)
            and not fix.is_of_other_program(words)
        ]
        if not fixes:
            continue
        for fix in fixes:
            fix.is_elsewhere = elsewhere
        alike = {fix: sum(map(fix.is_like, fixes)) for fix in fixes}
        most = max(alike.values())
        if most > by_itself and (len(fixes) < FEW or most > 1):
            return min(fixes, key=lambda fix: (-alike[fix], fix.doubt, -fix.ended, fix.ref))
    return None


def _of_repository(found: "list[ErrorOfSession]", cwd: str) -> "list[ErrorOfSession]":
    """Return the errors from sessions of the repository that ``cwd`` is in."""
    repos = {one.repo for one in found if one.repo is not None}
    names = set(light_names(cwd))
    if names and repos and not repos & names:
        names = set(all_names(cwd))
    return [one for one in found if one.repo in names]


def _is_of(one: ErrorOfSession, session: str) -> bool:
    """Whether an error is from the session that asks, or from one of its subagents."""
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
    """The reference of the fix; None if the error came back after it, or may have."""
    how = error["resolution"]
    failed, fixed = error["event_uids"], how["event_uids"]
    places = stored.places(one.uid, [*failed, *fixed[:1], how["succeeded"]])
    name = stored.short_name(one.uid)
    if how["succeeded"] not in places:
        # The events of an evicted session are not in the store, so their order is unknown. Only an
        # error that occurred once surely did not come back.
        return name if error["count"] == 1 else None
    if error["count"] > len(failed):
        return None
    if any(places.get(uid, 0) > places[how["succeeded"]] for uid in failed):
        return None
    return f"{name}#{places[fixed[0]]}" if fixed and fixed[0] in places else name
