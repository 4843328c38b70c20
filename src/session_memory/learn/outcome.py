"""How a session ended, told from evidence: what a person said or did last, the last test run,
commits, an error that ended it, no answer at all.

The first of these that says something decides, though mere thanks do not outweigh failed tests;
without any, the outcome is unknown. What lies on an abandoned branch or in a sidechain proves
nothing.
"""

from session_memory.core.skills import RESULT, verdict_of
from session_memory.learn.digest import OutcomeTold, TestRun
from session_memory.learn.steps import Done, few
from session_memory.learn.verdicts import COMPLAINT, DISMISSAL, PRAISE, says_it_works, verdict
from session_memory.store.brief_events import BriefEvent

_OF_VERDICT = {PRAISE: "success", COMPLAINT: "fail", DISMISSAL: "abandoned"}


class Ending:
    """Folds a session into what its end can be told from."""

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

    # ------------------------------------------------------------ what happens

    def prompt(self, event: BriefEvent, text: str) -> None:
        """A person speaks: what came before is what the words are about."""
        if not self._prompts:
            self._prompts.append(event.event_uid)
        said = verdict(text) if self._has_output else None
        self._verdict = (said, event.event_uid) if said else None
        self._is_mere_thanks = said == PRAISE and not says_it_works(text)
        self._interrupt = self._error = None
        self._is_answered = self._did_something = False
        self._failures = []

    def asked(self, event: BriefEvent) -> None:
        """A task that no person wrote: a subagent's prompt."""
        if not self._prompts:
            self._prompts.append(event.event_uid)

    def stepped_in(self, event: BriefEvent) -> None:
        self._interrupt = event.event_uid

    def answer(self, event: BriefEvent) -> None:
        """Words of the model; those that end a turn are among them."""
        self._has_output = self._is_answered = True
        self._error = self._interrupt = None

    def call(self, event: BriefEvent) -> None:
        # What is done after the words may change what they were about.
        self._has_output, self._is_answered = True, False
        self._verdict = self._error = self._interrupt = None

    def done(self, done: Done) -> None:
        if not done.failed:
            self._did_something, self._error = True, None
        else:
            self._error = done.result.event_uid
            if not done.says_no:
                self._failures.append(done.result.event_uid)
        kind = done.result.native_kind or ""
        if kind.startswith(RESULT):
            self._skill_ended(done, verdict_of(kind.removeprefix(RESULT)))

    def _skill_ended(self, done: Done, said: str) -> None:
        if said in ("pass", "fail"):
            self._test = said == "pass", (done.call.event_uid, done.result.event_uid)

    def tested(self, run: TestRun) -> None:
        if run.passed is not None:
            self._test = run.passed, (run.event_uid, run.result_uid)

    def committed(self, done: Done) -> None:
        self._commit = done.call.event_uid, done.result.event_uid

    def broke(self, event: BriefEvent) -> None:
        """An error of no call: the model could not be reached, the agent gave up."""
        self._error, self._is_answered = event.event_uid, False

    # ------------------------------------------------------------ what it comes to

    def told(self, open_calls: list[BriefEvent]) -> OutcomeTold:
        if self._interrupt is not None:
            return OutcomeTold("abandoned", "interrupted", (self._interrupt,))
        if self._verdict is not None and not self._is_outweighed():
            said, uid = self._verdict
            return OutcomeTold(_OF_VERDICT[said], "last_word", (uid,))
        if self._test is not None:
            passed, evidence = self._test
            return OutcomeTold("success" if passed else "fail", "tests", evidence)
        if self._commit is not None:
            return OutcomeTold("success", "commit", self._commit)
        if self._error is not None and not self._is_answered:
            return OutcomeTold("fail", "error", (self._error,))
        if self._failures and not self._did_something:
            return OutcomeTold("fail", "error", few(self._failures))
        return self._unproved(open_calls)

    def _is_outweighed(self) -> bool:
        """Whether the last tests failed and the person only said thanks."""
        return self._is_mere_thanks and self._test is not None and not self._test[0]

    def _unproved(self, open_calls: list[BriefEvent]) -> OutcomeTold:
        if self._prompts and not self._has_output:
            return OutcomeTold("abandoned", "no_output", tuple(self._prompts))
        if open_calls:
            return OutcomeTold("unknown", "open")
        return OutcomeTold("unknown", "answered" if self._is_answered else "nothing")
