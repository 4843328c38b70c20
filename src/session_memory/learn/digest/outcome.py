"""Decide a session's outcome from evidence.

The evidence, strongest first: the person's last action or words, the last test run, a commit, an
error at the end, no answer at all. The first evidence that exists decides; thanks alone do not
outweigh failed tests. Without evidence the outcome is unknown. Events on abandoned branches and
sidechains are no evidence.
"""

from session_memory.core.skills import RESULT, verdict_of
from session_memory.learn.digest import SessionOutcome, TestRun
from session_memory.learn.digest.steps import FinishedCall, first_few
from session_memory.learn.digest.verdicts import (
    COMPLAINT,
    DISMISSAL,
    PRAISE,
    says_it_works,
    verdict,
)
from session_memory.store.brief_events import BriefEvent

_OF_VERDICT = {PRAISE: "success", COMPLAINT: "fail", DISMISSAL: "abandoned"}


class Ending:
    """Collects the evidence for a session's outcome, one event at a time."""

    def __init__(self) -> None:
        self._prompts: list[str] = []
        self._verdict: tuple[str, str] | None = None
        self._is_mere_thanks = False
        self._interrupt: str | None = None
        self._test: tuple[bool, tuple[str, ...]] | None = None
        self._commit: tuple[str, ...] | None = None
        self._error: str | None = None
        self._has_output = False
        self._is_answered = False
        self._failures: list[str] = []
        self._did_something = False

    def prompt(self, event: BriefEvent, text: str) -> None:
        """A person wrote a prompt. It may judge the work so far, and it starts a new turn."""
        if not self._prompts:
            self._prompts.append(event.event_uid)
        judgement = verdict(text) if self._has_output else None
        self._verdict = (judgement, event.event_uid) if judgement else None
        self._is_mere_thanks = judgement == PRAISE and not says_it_works(text)
        self._interrupt = self._error = None
        self._is_answered = self._did_something = False
        self._failures = []

    def asked(self, event: BriefEvent) -> None:
        """Add a subagent's prompt, which an agent wrote."""
        if not self._prompts:
            self._prompts.append(event.event_uid)

    def intervened(self, event: BriefEvent) -> None:
        self._interrupt = event.event_uid

    def answer(self, event: BriefEvent) -> None:
        """The model wrote a text."""
        self._has_output = self._is_answered = True
        self._error = self._interrupt = None

    def call(self, event: BriefEvent) -> None:
        # Work after a verdict may change the result, so the verdict no longer counts.
        self._has_output, self._is_answered = True, False
        self._verdict = self._error = self._interrupt = None

    def add(self, finished: FinishedCall) -> None:
        if not finished.failed:
            self._did_something, self._error = True, None
        else:
            self._error = finished.result.event_uid
            if not finished.is_answer_no:
                self._failures.append(finished.result.event_uid)
        kind = finished.result.native_kind or ""
        if kind.startswith(RESULT):
            self._skill_ended(finished, verdict_of(kind.removeprefix(RESULT)))

    def _skill_ended(self, finished: FinishedCall, judgement: str) -> None:
        if judgement in ("pass", "fail"):
            self._test = (
                judgement == "pass",
                (finished.call.event_uid, finished.result.event_uid),
            )

    def tested(self, run: TestRun) -> None:
        if run.passed is not None:
            self._test = run.passed, (run.event_uid, run.result_uid)

    def committed(self, finished: FinishedCall) -> None:
        self._commit = finished.call.event_uid, finished.result.event_uid

    def model_failed(self, event: BriefEvent) -> None:
        """An error that belongs to no call: the model could not be reached."""
        self._error, self._is_answered = event.event_uid, False

    def result(self, open_calls: list[BriefEvent]) -> SessionOutcome:
        if self._interrupt is not None:
            return SessionOutcome("abandoned", "interrupted", (self._interrupt,))
        if self._verdict is not None and not self._is_outweighed():
            judgement, uid = self._verdict
            return SessionOutcome(_OF_VERDICT[judgement], "last_word", (uid,))
        if self._test is not None:
            passed, evidence = self._test
            return SessionOutcome("success" if passed else "fail", "tests", evidence)
        if self._commit is not None:
            return SessionOutcome("success", "commit", self._commit)
        if self._error is not None and not self._is_answered:
            return SessionOutcome("fail", "error", (self._error,))
        if self._failures and not self._did_something:
            return SessionOutcome("fail", "error", first_few(self._failures))
        return self._unproved(open_calls)

    def _is_outweighed(self) -> bool:
        """Whether the last tests failed and the person only said thanks."""
        return self._is_mere_thanks and self._test is not None and not self._test[0]

    def _unproved(self, open_calls: list[BriefEvent]) -> SessionOutcome:
        if self._prompts and not self._has_output:
            return SessionOutcome("abandoned", "no_output", tuple(self._prompts))
        if open_calls:
            return SessionOutcome("unknown", "open")
        return SessionOutcome("unknown", "answered" if self._is_answered else "nothing")
