"""Track the errors of a session that are not resolved yet, and find the call that ends each.

An error ends when the same check succeeds, or when the check shows other errors of the same program
but not this one any more. A check is recognized by its command, without directory, wrapper and
filters, or by the program that printed the error: a hook of ``git commit`` runs the linter, too.
"""

from collections import defaultdict, deque
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.learn.digest import Resolution
from session_memory.learn.digest.actions import Action
from session_memory.learn.digest.command_parts import (
    check_identity,
    covers,
    is_narrower,
    lead_of,
    shared_words,
    subcommands_of,
    tries_elsewhere,
)
from session_memory.learn.digest.error_lines import ErrorLine, cleaned_text
from session_memory.learn.digest.failed_calls import FailedCall
from session_memory.learn.digest.filtered_output import cuts_output, filters_out
from session_memory.learn.digest.inline_scripts import is_inline, is_other_script
from session_memory.learn.digest.resolutions import CERTAIN, LIKELY, POSSIBLE, resolution_of
from session_memory.learn.digest.runner_lines import MESSAGE, MISSING_FILE
from session_memory.learn.digest.shell_files import file_names, is_elsewhere, names_file
from session_memory.learn.digest.texts import Texts

MOST_OPEN = 60
MOST_APART = 200
_SOON = 6
_CONFLICT = lazy_pattern(r"Merge conflict in (\S+)")
# The rules of an agent, a person or a service did not allow a call.
_DENIED = lazy_pattern(
    r"(?i)permission for this|haven['’]?t granted|requested permissions? to|use was denied"
    r"|requires? (?:your )?approval|denied by (?:the )?(?:user|claude|policy|auto|rule|hook)"
)
_IS_NAME = lazy_pattern(r"\w[.-]\w|\w{8}")
_INPUT = lazy_pattern(r"JSONDecodeError|^jq: (?:parse )?error\b(?!: syntax)|in JSON at|JSON input")
_ALIKE = 0.6
# A shorter line may be printed for many reasons.
_TELLING, _COMPARED = 20, 120
# Agents write the exit status before an output.
_HEADER = 80
_SOME = 0.4


class EndedError(NamedTuple):
    """An error that is gone. ``mark`` is its fingerprint, ``first`` the ``seq`` of the first call
    that had it, and ``action`` the call after which it was gone."""

    mark: str
    first: int
    action: Action
    resolution: Resolution | None


class _OpenError:
    __slots__ = ("failure", "first", "number")

    def __init__(self, failure: FailedCall) -> None:
        self.failure = failure
        self.first = failure.action.call.seq
        self.number = failure.action.number


class OpenErrors:
    def __init__(self) -> None:
        self._open: dict[str, _OpenError] = {}
        self._recent: deque[Action] = deque(maxlen=MOST_APART)
        self._tools: dict[tuple[str, ...], set[str]] = defaultdict(set)

    def __bool__(self) -> bool:
        return bool(self._open)

    def failed(self, action: Action, found: dict[str, ErrorLine], texts: Texts) -> list[EndedError]:
        """Add a call that had errors, and return the earlier errors that it no longer has.

        ``found`` are the errors of the call, by fingerprint.
        """
        ended: list[EndedError] = []
        shown = {error.kind for error in found.values()}
        tools = {error.tool for error in found.values() if error.is_of_check}
        for part in action.parts:
            self._tools[check_identity(part)] |= tools
        for mark, one in list(self._open.items()):
            if mark in found or not self._checks(one.failure, action):
                continue
            error = one.failure.error
            if error.kind in shown:
                one.failure, one.number = FailedCall(error, action), action.number
            elif error.tool in tools:
                # The check ran and found something else, so this error is gone.
                end = self._end(mark, one, action, texts)
                if _is_guess(end.resolution) and cuts_output(action.command):
                    # The output is not whole, so the error may be in the part that is missing.
                    self._open[mark] = one
                else:
                    ended.append(end)
            elif self._stopped_elsewhere(one, action):
                end = self._end(mark, one, action, texts)
                if _is_guess(end.resolution) and self._changes_since(one) != 1:
                    self._open[mark] = one
                else:
                    ended.append(end)
            elif self._got_further(one.failure, action):
                end = self._end(mark, one, action, texts)
                if end.resolution is None:
                    # A call that fails, too, replaces nothing. A later call may.
                    self._open[mark] = one
                else:
                    ended.append(end)
        for mark, error in found.items():
            if (known := self._open.get(mark)) is not None:
                known.failure, known.number = FailedCall(error, action), action.number
            else:
                if len(self._open) >= MOST_OPEN:
                    del self._open[next(iter(self._open))]
                self._open[mark] = _OpenError(FailedCall(error, action))
        return ended

    @staticmethod
    def _stopped_elsewhere(one: _OpenError, action: Action) -> bool:
        """Whether the same command failed again, but not where the program ended before: a script
        with another exception, a linter that starts now and finds errors."""
        error = one.failure.error
        is_end = error.grade >= MESSAGE and error.about in ("", "call")
        return is_end and action.repeats(one.failure.action)

    def _changes_since(self, one: _OpenError) -> int:
        """Return the number of files that were edited since the last failure. If there are none,
        return the number of commands that may have changed something."""
        since = [each for each in self._recent if each.number > one.number]
        files = {path for each in since if each.is_edit for path in each.paths}
        return len(files) or sum(
            each.is_shell and not each.only_looks and not each.is_check for each in since
        )

    @staticmethod
    def _got_further(failure: FailedCall, action: Action) -> bool:
        """Whether the failed call itself was wrong, and the new call is a changed one.

        Then the new call got past the earlier error. The same call again did not, even if it prints
        another message.
        """
        return failure.is_about_call and not action.repeats(failure.action)

    def succeeded(self, action: Action, texts: Texts) -> list[EndedError]:
        """Add a call without errors, and return the earlier errors that are gone after it."""
        ended: list[EndedError] = []
        if action.finished.is_poll:
            # The call only shows the progress of an earlier call, so it resolves nothing.
            return ended
        for mark, one in list(self._open.items()):
            if action.number - one.number > MOST_APART:
                del self._open[mark]
            elif action.is_running and one.failure.error.about != "call":
                # The command may still fail. Only what is wrong with a call shows at once.
                continue
            elif _shows_nothing(one.failure, action):
                continue
            elif (
                not action.hides_failure
                and self._is_end(one, action)
                and not _still_shows(one.failure.error, action, texts)
            ):
                ended.append(self._end(mark, one, action, texts))
        self._recent.append(action)
        return ended

    def _end(self, mark: str, one: _OpenError, action: Action, texts: Texts) -> EndedError:
        between = [each for each in self._recent if one.number < each.number < action.number]
        how = resolution_of(one.failure, between, action, texts)
        if how is not None and action.errors:
            how = _after_failure(how, action)
        del self._open[mark]
        return EndedError(mark, one.first, action, how)

    def _is_end(self, one: _OpenError, action: Action) -> bool:
        failed = one.failure.action
        if action.skips_hooks and not failed.skips_hooks:
            return False
        if _is_denied(one.failure.error.text) and failed.key != action.key:
            # Other calls were allowed before, too. Only nearly the same call does the same.
            is_alike = shared_words(failed.command, action.command) >= _ALIKE
            return failed.is_shell and action.is_shell and is_alike
        if not one.failure.is_about_call and tries_elsewhere(action.command):
            return False
        if _is_patch(failed) and _is_patch(action) and not _files(failed) & _files(action):
            return False
        if not failed.is_shell:
            return _ends_edit(failed, action, action.number - one.number)
        if not action.is_shell:
            return False
        if self._checks(one.failure, action):
            return True
        if conflict := _CONFLICT.search(one.failure.error.text):
            return self._is_solved(conflict[1], one, action)
        if failed.is_test and action.is_test:
            is_edited = any(each.is_edit and each.number > one.number for each in self._recent)
            is_here = not is_elsewhere(failed.place, action.place)
            return is_edited and is_here and covers(action.command, one.failure.error.whole)
        is_soon = action.number - one.number <= _SOON
        return is_soon and one.failure.is_about_call and _replaces(one.failure, action)

    def _is_solved(self, file: str, one: _OpenError, action: Action) -> bool:
        """Whether the merge conflict in a file was edited away, and git was told so."""
        is_marked = any(
            part.program == "git" and {"add", "commit", "rm"} & {*part.words[1:3]}
            for part in action.parts
        )
        return is_marked and any(
            each.number > one.number and any(path.endswith(file) for path in each.paths)
            for each in self._recent
        )

    def _checks(self, failure: FailedCall, action: Action) -> bool:
        if not self._is_same_check(failure, action):
            return False
        # The same check of another part of the repository says nothing about this one.
        return failure.is_about_call or not is_elsewhere(failure.action.place, action.place)

    def _is_same_check(self, failure: FailedCall, action: Action) -> bool:
        error = failure.error
        is_fewer = error.about == "test" and is_narrower(action.command, failure.action.command)
        if is_fewer and not covers(action.command, error.whole):
            # A run of fewer tests includes the failed one only if it names it.
            return False
        if action.checks_again(failure.action):
            return True
        return error.is_of_check and any(
            error.tool in self._tools.get(check_identity(part), ()) for part in action.parts
        )

    def left(self) -> Iterator[tuple[str, int, int]]:
        """Yield the errors that are still open: fingerprint, first and last ``seq`` with it."""
        for mark, one in self._open.items():
            yield mark, one.first, one.failure.action.result.seq


def _shows_nothing(failure: FailedCall, action: Action) -> bool:
    """Whether the error could not show in the output of a call, even if it is still there."""
    error = failure.error
    if not action.is_shell:
        return False
    if _INPUT.search(error.text):
        # What the program read was wrong. To run only the command before it shows no cure.
        program = failure.action.parts[-1].program if failure.action.parts else ""
        return program not in action.command
    return not failure.is_about_call and filters_out(action.command, error.whole)


def _still_shows(error: ErrorLine, action: Action, texts: Texts) -> bool:
    """Whether a call that ended with status 0 printed the error all the same: ``make | tail``."""
    if not action.is_shell or len(error.text) < _TELLING:
        return False
    text, start = cleaned_text(texts.output(action.result)), error.text[:_COMPARED]
    # What a call that only looks prints may be a log with the error. A shell prints its own before.
    return start in (text[: len(start) + _HEADER] if action.only_looks else text)


def _is_guess(how: Resolution | None) -> bool:
    """Whether nothing shows that a change has to do with the error."""
    return how is None or how.certainty == POSSIBLE


def _after_failure(how: Resolution, action: Action) -> Resolution | None:
    """Check a resolution again if the call after it, ``action``, had other errors.

    The resolution is then at most likely. If ``action`` itself is the resolution, the result is
    None unless it worked: a linter or a test run works even if it finds errors.
    """
    has_worked = action.is_check and not any(
        FailedCall(one, action).is_about_call for one in action.errors
    )
    if how.kind in ("instead", "again") and not has_worked:
        return None
    return replace(how, certainty=LIKELY) if how.certainty == CERTAIN else how


def _is_patch(action: Action) -> bool:
    return action.is_shell and any(part.program == "apply_patch" for part in action.parts)


def _files(action: Action) -> set[str]:
    """Return the names of the files that a call edits."""
    return {path.replace("\\", "/").rpartition("/")[2] for path in action.paths}


def _ends_edit(failed: Action, action: Action, apart: int) -> bool:
    """Whether a call does what an earlier call without a shell (an edit, a read) failed to do.

    ``apart`` is the number of calls between them.
    """
    if failed.is_edit:
        path = failed.call.path
        if not path or not action.is_edit:
            return False
        return path == action.call.path or path in action.paths
    return apart <= _SOON and failed.call.tool == action.call.tool and failed.key != action.key


@lru_cache(maxsize=500)
def _is_denied(error: str) -> bool:
    return _DENIED.search(error) is not None


def _is_other_subcommand(failure: FailedCall, action: Action, programs: set[str]) -> bool:
    """Whether both commands run one of these programs, but each with a subcommand of its own.

    False if the error names the failed subcommand ("unknown command 'x'"), because the later
    subcommand then corrects it.
    """
    failed = {subcommands_of(part) for part in failure.action.parts if part.program in programs}
    later = {subcommands_of(part) for part in action.parts if part.program in programs}
    if not failed or not later or () in failed | later:
        return False
    if any(all(map(str.__eq__, one, other)) for one in failed for other in later):
        return False
    return not any(name in failure.error.text for names in failed for name in names)


def _replaces(failure: FailedCall, action: Action) -> bool:
    """Whether a command did in another way what the similar, failed command should do."""
    failed = failure.action
    error = failure.error.text
    if (missing := MISSING_FILE.search(error)) is not None and failed.only_looks:
        # A name such as "test" or "src" is in many commands that have nothing to do with it.
        name = missing["path"].rstrip("/").rpartition("/")[2]
        if action.only_looks and not action.result.summary.strip():
            # A search that found nothing did not do what the failed command should do.
            return False
        has_moved = action.settings != failed.settings
        if has_moved and shared_words(failed.command, action.command) >= _ALIKE:
            return True
        is_named = _IS_NAME.search(name) is not None and names_file(action.command, name)
        return is_named and (action.only_looks or any(part.is_changing for part in action.parts))
    if failed.only_looks and "command not found" not in error:
        # To read another file does not replace a failed read, so both commands must name the same
        # file. If the error does not name this file, the commands must also have many words in
        # common, because the error is then about the command.
        files = file_names(failed.command) & file_names(action.command)
        is_named = any(file in error for file in files)
        fewest = _ALIKE if failure.error.tool == "shell" else _SOME
        return is_named or (bool(files) and shared_words(failed.command, action.command) >= fewest)
    if action.only_looks and not failed.only_looks:
        return False
    is_missing = "command not found" in error
    if not is_missing and is_other_script(failed.command, action.command):
        return False
    if not is_missing and is_inline(failed.command) != is_inline(action.command):
        # ``python -c "import x"`` does something else than ``python setup.py``.
        return shared_words(failed.command, action.command) >= _ALIKE
    leads = {lead for part in failed.parts if (lead := lead_of(part))}
    others = [lead for part in action.parts if (lead := lead_of(part))]
    if shared := leads.intersection(others):
        if not _is_other_subcommand(failure, action, {lead[0] for lead in shared}):
            return True
        return shared_words(failed.command, action.command) >= _ALIKE
    if {lead[0] for lead in leads if len(lead) > 1} & {lead[0] for lead in others if len(lead) > 1}:
        # The same program with another subcommand does something else: ``git pull``, ``git push``.
        return False
    # The other command may run the program behind a wrapper: ``python x`` and ``uv run python y``.
    programs = {lead[0] for lead in leads if len(lead) == 1}
    if any(word in programs for part in action.parts for word in part.words[1:4]):
        return True
    return shared_words(failed.command, action.command) >= _ALIKE
