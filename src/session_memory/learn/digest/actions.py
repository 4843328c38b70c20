"""A finished tool call, with everything that finding errors and their resolutions asks about it.

Texts are read from the stored logs only when something asks for them.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from session_memory.core.changes import Change
from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.derive.agents import changes_asked
from session_memory.derive.detecting import command_of
from session_memory.learn.digest.command_parts import (
    Part,
    is_same_check,
    lead_of,
    parts_of,
    run_again,
    runs_check,
    skips_hooks,
)
from session_memory.learn.digest.error_lines import ErrorLine, error_line, error_lines
from session_memory.learn.digest.experiments import is_experiment
from session_memory.learn.digest.filtered_output import hides_failure
from session_memory.learn.digest.harmless import looks_only
from session_memory.learn.digest.inline_scripts import is_inline, is_other_script
from session_memory.learn.digest.output_errors import errors_in_output, was_stopped
from session_memory.learn.digest.running import is_running
from session_memory.learn.digest.shell_files import place_of
from session_memory.learn.digest.steps import FinishedCall
from session_memory.learn.digest.telling import names_in
from session_memory.learn.digest.texts import Texts
from session_memory.store.brief_events import BriefEvent

MOST_CHANGED_LINES = 400
_STOPPED = (130, -2)
_OF_SHELL = ("sh:", "(eval):")
# Arguments of a call that do not change what it does.
_REMARKS_WORDS = """
    description justification explanation timeout timeout_ms yield_time_ms max_output_tokens
    run_in_background
"""
_SCRIPT_SETTING = lazy_pattern(
    r"""\b(workdir|sandbox_permissions)["']?\s*:\s*["']([^"'\n]{1,200})["']"""
)
# A script of Codex that calls several tools. Its words are no commands.
_SCRIPT = lazy_pattern(
    r"\s*(?:const|let|var|await|text|for) ?[\w{\[(].*\b(?:tools\.|ALL_TOOLS)", re.DOTALL
)
_LONGEST_SCRIPT = 20_000
_REMARKS = frozenset(_REMARKS_WORDS.split())


class Action:
    """A finished tool call. ``number`` counts the finished calls of the session.

    ``message`` is the last message of the model before the call; None if an edit or a message of a
    person came after it.
    """

    def __init__(
        self,
        number: int,
        finished: FinishedCall,
        message: BriefEvent | None,
        texts: Texts,
        uid: str,
    ) -> None:
        self.number, self.finished, self.message = number, finished, message
        self.call, self.result = finished.call, finished.result
        self.is_edit = "edit" in finished.kinds
        self.is_test = "test_run" in finished.kinds
        self.is_shell = finished.is_shell
        self.errors: list[ErrorLine] = []
        self.was_stopped = finished.result.exit_code in _STOPPED
        self.is_running = False
        self._texts, self._session = texts, uid

    @property
    def key(self) -> tuple[str | None, str]:
        return self.finished.key

    @property
    def uid(self) -> str:
        return self.call.event_uid

    # ------------------------------------------------------------ the call

    @cached_property
    def _body(self) -> tuple[str, Any]:
        return self._texts.call(self.call)

    @property
    def arguments(self) -> Any:
        return self._body[1]

    @cached_property
    def command(self) -> str:
        """The whole text of a shell call; for other calls the path or the summary."""
        if not self.is_shell:
            return self.call.path or self.call.summary
        if not self.call.summary.endswith("…"):
            return self.call.summary
        text, given = self._body
        return command_of(self.call.tool or "", given) or text or self.call.summary

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        is_script = _SCRIPT.match(self.command) is not None
        return parts_of(self.command) if self.is_shell and not is_script else ()

    @cached_property
    def place(self) -> str:
        """The directory in which a shell call runs its commands; "" if the call does not say it."""
        place, own = place_of(self.command), self.settings.get("workdir", "")
        if not place or not own or place.startswith("/"):
            return place or own
        return f"{own.rstrip('/')}/{place.removeprefix('./')}"

    @cached_property
    def is_check(self) -> bool:
        """Whether the words of the call show that it runs a compiler, a linter, tests or a hook."""
        return self.is_test or (self.is_shell and runs_check(self.command))

    @cached_property
    def only_looks(self) -> bool:
        return looks_only(self.finished, self.command)

    @property
    def is_meant_to_fail(self) -> bool:
        """Whether a failure of this call is no error.

        It may be the answer "no" (``grep`` found nothing), or the agent broke something on purpose.
        """
        if not self.is_shell:
            return False
        if self.finished.answers_no(self.command):
            return not self._shell_complains()
        return is_experiment(self.command)

    def _shell_complains(self) -> bool:
        """Whether the shell could not run a command, as in ``zsh:1: unmatched "``."""
        if not any(sign in self.result.summary for sign in _OF_SHELL):
            return False
        return any(one.tool == "shell" for one in error_lines(self._texts.output(self.result)))

    @property
    def hides_failure(self) -> bool:
        """Whether the call always exits with status 0, as ``make lint || true`` does."""
        return self.is_shell and hides_failure(self.command)

    @cached_property
    def skips_hooks(self) -> bool:
        """Whether the call runs git without its hooks, so that their errors cannot come back."""
        return self.is_shell and skips_hooks(self.command)

    @cached_property
    def settings(self) -> dict[str, str]:
        """The short arguments beside the command, such as a directory or a permission."""
        given = self.arguments
        if isinstance(given, str) and "exec_command" in given:
            # Codex of 2026 runs a script that calls its shell: tools.exec_command({"cmd": …}).
            return dict(_SCRIPT_SETTING.findall(given[:_LONGEST_SCRIPT]))
        if not isinstance(given, dict):
            return {}
        return {
            name: str(value)
            for name, value in given.items()
            if name not in _REMARKS
            and name not in ("command", "cmd", "commands")
            and isinstance(value, str | int | bool)
            and len(str(value)) < 200
        }

    def repeats(self, other: "Action") -> bool:
        """Whether this call does the same as an earlier one: same command, same settings."""
        if not self.is_shell or not other.is_shell:
            return self.key == other.key
        return run_again(self.command, other.command) and self.settings == other.settings

    def checks_again(self, other: "Action") -> bool:
        """Whether this call runs a check that the other one ran, such as the same linter."""
        if self.is_shell and other.is_shell:
            if is_inline(self.command) and is_inline(other.command):
                programs = set(map(lead_of, self.parts))
                is_same = not programs.isdisjoint(map(lead_of, other.parts))
                return is_same and not is_other_script(self.command, other.command)
            return any(is_same_check(one, two) for one in other.parts for two in self.parts)
        return self.call.tool == other.call.tool and self.key == other.key

    # ------------------------------------------------------------ what it changed

    @cached_property
    def changed_lines(self) -> tuple[str, ...]:
        """The lines that an edit removes and adds, with ``-`` and ``+`` before them."""
        return tuple(self._changed()) if self.is_edit else ()

    @cached_property
    def _changed_text(self) -> str:
        return "\n".join(self.changed_lines)

    @cached_property
    def _lowered_change(self) -> str:
        return self._changed_text.lower()

    @cached_property
    def _changed_names(self) -> frozenset[str]:
        return names_in(self._changed_text)

    def changes_named(self, names: frozenset[str]) -> frozenset[str]:
        """Return those of ``names`` that are in the lines that this edit removes and adds."""
        # Most edits have none of them. To search for a few names is faster than to find all names.
        lowered = self._lowered_change
        return names & self._changed_names if any(one in lowered for one in names) else frozenset()

    @cached_property
    def _changes(self) -> list[Change]:
        text, given = self._body
        return changes_asked(self._session, given, text, self.call.path)

    def _changed(self) -> Iterator[str]:
        left = MOST_CHANGED_LINES
        for change in self._changes:
            lines = [line for line in change.lines if line[:1] in "+-"]
            if not lines and change.content:
                lines = [f"+{line}" for line in change.content.splitlines()[:left]]
            yield from lines[:left]
            left -= len(lines)
            if left <= 0:
                return

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The files that an edit changes."""
        if not self.is_edit:
            return ()
        named = [change.path for change in self._changes]
        return tuple(dict.fromkeys(filter(None, [self.call.path, *named[:10]])))

    # ------------------------------------------------------------ what it printed

    def find_errors(self) -> list[ErrorLine]:
        """Return the errors that the output of this call shows.

        A call that did not fail has errors only if its exit status is unknown or if it is a check:
        ``make lint | tail`` ends with status 0 although the linter failed.
        """
        failed = self.finished.failed
        if not failed and not (self.is_shell and self._may_hide_errors()):
            return []
        text = self._texts.output(self.result)
        self.is_running = not failed and self.result.exit_code is None and is_running(text)
        if was_stopped(text):
            self.was_stopped = True
            return []
        if failed and not self.is_shell and not self.finished.is_poll:
            # The lines after the first two repeat what the call was given, such as a file's text.
            line = error_line("\n".join(text.strip().split("\n")[:2])) or error_line(text)
            return [ErrorLine(line)] if line else []
        return errors_in_output(text, failed=failed)

    def _may_hide_errors(self) -> bool:
        # The counts in the output of a test run were read already.
        if self.is_edit or self.is_test:
            return False
        return self.result.exit_code is None or self.is_check
