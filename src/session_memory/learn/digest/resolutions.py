"""Decide which change resolved an error: the one that most likely made the difference.

Candidates are the edits and commands between the last failure and the success of the same check,
and the successful call itself if it was changed. Each gets a score. An edit of the file that the
error names and a command that installs what is missing score high; an edit that only mentions names
of the error and a changed call score less. A read, a poll and an unrelated command have no score.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.core.text import escaped, one_line
from session_memory.learn.digest import Resolution
from session_memory.learn.digest.actions import Action
from session_memory.learn.digest.command_parts import shared_words
from session_memory.learn.digest.command_scores import (
    changes_something,
    command_score,
    most_fitting,
)
from session_memory.learn.digest.error_lines import CHECKED, ErrorLine
from session_memory.learn.digest.failed_calls import FailedCall
from session_memory.learn.digest.inline_scripts import is_inline, is_like_script
from session_memory.learn.digest.runner_lines import STATUS
from session_memory.learn.digest.telling import names_in, said_in, telling_lines
from session_memory.learn.digest.texts import Texts
from session_memory.learn.digest.unrelated_edits import is_beside, is_scratch, is_unrelated
from session_memory.redact import mask, mask_each

SAME_FILE = "the same file"
CERTAIN, LIKELY, POSSIBLE = "certain", "likely", "possible"
MOST_ACTIONS = 3
MOST_LINES = 12
LONGEST_LINE = 160
LONGEST_TEXT = 400


_NO_FILE = lazy_pattern(r"(?i)^File does not exist|no such file|ENOENT")
_WORD = lazy_pattern(r"[a-z_][\w-]+")
_TEST_NAME = lazy_pattern(r"^test[_-]|[_-](?:test|spec)s?$")
_SHORTEST_STEM = 5
_ALIKE = 0.5


class _Candidate(NamedTuple):
    score: float
    kind: str
    action: Action


def resolution_of(
    failure: FailedCall, between: Sequence[Action], success: Action, texts: Texts
) -> Resolution | None:
    """Return what resolved an error, or None if no change can have resolved it.

    ``between`` are the calls without errors after the last failure, in order. ``success`` is the
    call after which the error was gone.
    """
    if failure.is_of_edit:
        return _of_edit(failure, between, success)
    names = _names_of(failure.error)
    found = [one for action in between if (one := _candidate(failure, action, names)) is not None]
    if (changed := _changed_call(failure, success)) is not None:
        found.append(changed)
    if not found:
        return _fallback(failure, between, success, texts)
    best = max(one.score for one in found)
    some = [one for one in found if one.score >= best - 0.5]
    if some[-1].action is success and some[-1].score < best:
        # A change that fits better made the difference, and the call was only written anew.
        del some[-1]
    kind = some[-1].kind
    chosen = [one.action for one in some if one.kind == kind][-MOST_ACTIONS:]
    is_same = success.checks_again(failure.action)
    certainty = CERTAIN if best >= 4 and is_same else LIKELY if best >= 2 else POSSIBLE
    return _made(kind, chosen, success, certainty, failure, texts)


def resolution_of_report(
    error: ErrorLine, after: Sequence[Action], texts: Texts
) -> Resolution | None:
    """Return what resolved an error that a person reported, or None.

    ``after`` are the calls after the report. The edits or commands that fit the error best count.
    """
    if not after:
        return None
    names = _names_of(error)
    failure = FailedCall(error, after[0])
    changes = [one for one in after if not one.finished.failed]
    # Documents and tests that were written along with a change resolved nothing.
    changes = [one for one in changes if not one.is_edit or not is_beside(error, one)]
    found = [one for each in changes if (one := _candidate(failure, each, names)) is not None]
    kind = "edit" if any(one.kind == "edit" for one in found) else "command"
    found = [one for one in found if one.kind == kind]
    if not found:
        edits = [one for one in changes if one.is_edit and not is_scratch(one)]
        found = [_Candidate(0, "edit", one) for one in edits[-MOST_ACTIONS:]]
    if not found:
        return None
    best = sorted(found, key=lambda one: (one.score, one.action.number))[-MOST_ACTIONS:]
    certainty = LIKELY if best[-1].score >= 3 else POSSIBLE
    chosen = sorted((one.action for one in best), key=lambda one: one.number)
    return _made(kind if found[0].score else "edit", chosen, chosen[-1], certainty, failure, texts)


def _names_of(error: ErrorLine) -> frozenset[str]:
    return names_in(error.text if _is_located(error) else f"{error.text} {error.near}")


def _is_located(error: ErrorLine) -> bool:
    """Whether a compiler or linter named the file. Then the lines near the error are other errors,
    and what they name has nothing to do with this one."""
    return bool(error.path) and error.about in ("type", "lint")


def _of_edit(failure: FailedCall, between: Sequence[Action], success: Action) -> Resolution | None:
    """Return why a failed edit or read succeeded later, or None if that is unknown.

    Either the file was read in between (``look``), or another kind of call, such as a shell command
    instead of an edit, succeeded (``instead``).
    """
    path = failure.action.call.path
    if _NO_FILE.search(failure.error.text):
        # To read a file does not make it. It came back with a change such as "git checkout".
        made = [one for one in between if any(part.is_changing for part in one.parts)]
        if not failure.action.is_edit or not made:
            return None
        return _plain("command", made[-1], success)
    reads = [one for one in between if path and not one.is_edit and _reads(one, path)]
    if reads:
        uids = (reads[-1].uid,)
        return Resolution("look", SAME_FILE, uids, success.result.event_uid, LIKELY)
    if success.is_shell != failure.action.is_shell:
        return _plain("instead", success, success, LIKELY)
    return None


def _plain(kind: str, action: Action, success: Action, certainty: str = POSSIBLE) -> Resolution:
    text = _text(kind, [action])
    return Resolution(kind, text, (action.uid,), success.result.event_uid, certainty)


def _reads(action: Action, path: str) -> bool:
    """Whether a call reads a file: with a tool for reading, or with a program such as ``sed``."""
    if action.call.path == path:
        return True
    return action.is_shell and action.only_looks and path.rpartition("/")[2] in action.command


def _candidate(failure: FailedCall, action: Action, names: frozenset[str]) -> _Candidate | None:
    if action.is_edit and not is_unrelated(failure, action):
        score = _edit_score(failure, action, names)
        return _Candidate(score, "edit", action) if score else None
    if not action.is_shell or action.only_looks:
        return None
    score = command_score(failure, action, names)
    return _Candidate(score, "command", action) if score else None


def _edit_score(failure: FailedCall, action: Action, names: frozenset[str]) -> float:
    error = failure.error
    if error.about == "format":
        return 0
    files = {path.replace("\\", "/").rpartition("/")[2] for path in action.paths}
    named = error.path.replace("\\", "/").rpartition("/")[2]
    score = 0.0
    if named and named in files or any(len(file) > 3 and file in error.text for file in files):
        score += 4
    elif not _is_located(error) and any(len(file) > 3 and file in error.near for file in files):
        score += 3
    elif _is_subject(failure, files):
        score += 2
    own = action.changes_named(names)
    if own:
        score += 1.5 if score or len(own) > 1 else 2
    if failure.is_about_call and score < 3:
        return 0
    return score


def _is_subject(failure: FailedCall, files: Iterable[str]) -> bool:
    """Whether the failed command names one of these files, or a failed test is named after one."""
    if failure.is_about_call:
        return False
    if not failure.files.isdisjoint(files):
        return True
    if failure.error.about != "test":
        return False
    # A stem is a whole word or a part of a name: "basket" of "test_basket_total".
    said = failure.error.text.lower()
    words = {*_WORD.findall(said), *said.replace("_", " ").replace("-", " ").split()}
    stems = (_TEST_NAME.sub("", file.partition(".")[0].lower()) for file in files)
    return any(len(stem) > _SHORTEST_STEM and stem in words for stem in stems)


def _changed_call(failure: FailedCall, success: Action) -> _Candidate | None:
    if failure.error.tool == "shell" and success.command != failure.action.command:
        # The quotes may be all that was changed.
        return _Candidate(3.5, "instead", success)
    if success.repeats(failure.action):
        return None
    if failure.action.only_looks and success.only_looks and not _is_alike(failure.action, success):
        return None
    if failure.is_about_call:
        return _Candidate(3.5, "instead", success)
    if any(part.is_fixing for part in success.parts) and failure.error.about in ("lint", "format"):
        return _Candidate(5 if failure.error.about == "format" else 3, "command", success)
    is_content = failure.error.about in CHECKED
    if is_inline(failure.action.command) and not is_like_script(
        failure.action.command, success.command
    ):
        # A script that does something else shows nothing about this one.
        return None
    return None if is_content else _Candidate(1.0, "instead", success)


def _is_alike(failed: Action, success: Action) -> bool:
    """Whether two calls that only look ask for the same, in other words."""
    return success.is_shell and shared_words(failed.command, success.command) >= _ALIKE


def _fallback(
    failure: FailedCall, between: Sequence[Action], success: Action, texts: Texts
) -> Resolution | None:
    """Return the most likely resolution if no change has a score, or None.

    The last edits come first, then a command in between, then ``again`` if the same call succeeded.
    """
    given = between
    if failure.error.grade == STATUS:
        # Only an exit status is known, so the failures may have had different causes.
        between = ()
    edits = [one for one in between if one.is_edit and not is_unrelated(failure, one)]
    if edits and not failure.is_about_call:
        return _made("edit", edits[-MOST_ACTIONS:], success, POSSIBLE, failure, texts)
    others = [one for one in between if one.is_shell and not one.only_looks and not one.is_check]
    changes = [one for one in others if changes_something(one)]
    some = most_fitting(failure, changes) if changes else others if len(others) == 1 else []
    if some and success.checks_again(failure.action):
        return _made("command", some, success, POSSIBLE, failure, texts)
    if not success.repeats(failure.action) or any(one.is_edit for one in given):
        return None
    if others and not failure.is_about_call:
        # Some command made the difference, and nothing shows which one.
        return None
    return Resolution("again", "", (success.uid,), success.result.event_uid, POSSIBLE)


def _made(
    kind: str,
    chosen: Sequence[Action],
    success: Action,
    certainty: str,
    failure: FailedCall,
    texts: Texts,
) -> Resolution:
    names = names_in(f"{failure.error.text} {failure.error.near}")
    lines: list[str] = []
    for action in chosen:
        some = telling_lines(action.changed_lines, names, MOST_LINES - len(lines))
        lines += [one_line(escaped(line), LONGEST_LINE) for line in mask_each(some)]
    message = next((one.message for one in chosen if one.message is not None), None)
    return Resolution(
        kind,
        _text(kind, chosen, failure),
        tuple(action.uid for action in chosen),
        success.result.event_uid,
        certainty,
        said_in(texts.words(message)) if message is not None else "",
        tuple(lines),
        _passed(failure, chosen, success),
    )


def _passed(failure: FailedCall, chosen: Sequence[Action], success: Action) -> str:
    """Return the command of the check that passed, or "" if no such check is known."""
    is_check = success.is_shell and (success.is_test or success.checks_again(failure.action))
    if success.errors or success.finished.failed or success in chosen or not is_check:
        return ""
    return one_line(escaped(mask(success.command[: 4 * LONGEST_TEXT])), LONGEST_TEXT)


def _text(kind: str, chosen: Sequence[Action], failure: FailedCall | None = None) -> str:
    """Return the text of a resolution: the edited files, or the call.

    If the call was run instead of the failed one, up to three settings that it changed follow.
    """
    if kind == "edit":
        paths = dict.fromkeys(
            path for action in chosen for path in (action.paths or (action.command,))[:3]
        )
        return one_line(", ".join(paths), LONGEST_TEXT)
    action = chosen[-1]
    text = mask(action.command[: 4 * LONGEST_TEXT])
    if failure is not None and kind == "instead":
        before = failure.action.settings
        new = [f"{k}={v}" for k, v in action.settings.items() if before.get(k) != v]
        if new and len(new) <= 3:
            text = f"{one_line(text, LONGEST_TEXT - 100)} ({mask(', '.join(new))})"
    return one_line(escaped(text), LONGEST_TEXT)
