"""Decide a session's outcome from evidence.

The last turn decides, because it is what the person asked last. Its evidence, strongest first: a
plan for another session, the person's interruption or verdict, a commit or push (refused or
arrived), the last test run, an error, the agent's last answer. An answer without better evidence
is a success with the reason ``answered``, or ``unverified`` if files were changed. Events on
abandoned branches and sidechains are no evidence.
"""

import re

from session_memory.core.skills import RESULT, verdict_of
from session_memory.learn.digest import SessionOutcome, TestRun
from session_memory.learn.digest.closing import (
    announces_work,
    asks_to_choose,
    ends_with_question,
    gave_up,
    is_not_ours,
    is_question,
    is_unread_call,
    is_unsolved,
    says_committed,
    says_tests_pass,
    waits_for_person,
)
from session_memory.learn.digest.deliveries import COMMIT, Delivery, delivers
from session_memory.learn.digest.experiments import is_experiment
from session_memory.learn.digest.steps import FinishedCall, first_few, runs_shell
from session_memory.learn.digest.texts import Texts
from session_memory.learn.digest.turn import LastTurn
from session_memory.learn.digest.verdict_words import is_leaving
from session_memory.learn.digest.verdicts import (
    COMPLAINT,
    DISMISSAL,
    PRAISE,
    says_it_works,
    verdict,
)
from session_memory.store.brief_events import BriefEvent

_OF_VERDICT = {PRAISE: "success", COMPLAINT: "fail", DISMISSAL: "abandoned"}
# These messages say that the test runner did not start, so nothing is known about the tests.
_NOT_RUN = re.compile(
    r"command not found|not recognized|unrecognized (?:sub)?command|unknown (?:sub)?command"
    r"|no such (?:file|command)|missing script|is not installed|not found in path|aborted|err_pnpm"
    r"|operation not permitted|permission denied|cannot be loaded|no module named|\benoent\b"
    r"|could not (?:find|locate) executable|no rule to make target|task .{0,40} not found",
    re.IGNORECASE,
)
_HANDOVER = re.compile(
    r"/(?:\w+:)?hand-?(?:off|over)\b|\b(?:write|create|make|prepare|generate|draft|save|give|do|leave|update)\b.{0,60}"
    r"(?<![\w-])hand-?\s?(?:off|over)(?:\s(?:doc\w*|notes?|prompt|summary|message|file|report))?"
    r"\s*(?:\Z|[.,;:!]|\b(?:for|to|so|with|and|then|now|that|which|before|about|in)\b)"
    r"|\b(?:continue|resume|pick (?:it|this) up|go on)\b.{0,40}"
    r"\b(?:new|next|another|fresh|different)\s(?:session|chat|conversation|thread|context)\b",
    re.IGNORECASE,
)
_LONGEST_REQUEST = 400


class Ending:
    """Collects the evidence for a session's outcome, one event at a time."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._prompts: list[str] = []
        self._verdict: tuple[str, str] | None = None
        self._is_mere_thanks = False
        self._has_output = False
        self._turn = LastTurn()
        self._test: tuple[bool, tuple[str, ...]] | None = None
        self._delivered: tuple[str, ...] = ()
        self._has_changed = False

    def prompt(self, event: BriefEvent, text: str) -> None:
        """Add a prompt of a person. It may judge the work so far, and it starts a new turn."""
        if not self._prompts:
            self._prompts.append(event.event_uid)
        # A person who leaves the program ("exit") or runs a command in it ("! ls") asks nothing.
        if self._has_output and (is_leaving(text) or text.startswith("! ")):
            return
        judgement = verdict(text) if self._has_output else None
        self._verdict = (judgement, event.event_uid) if judgement else None
        self._is_mere_thanks = judgement == PRAISE and not says_it_works(text)
        self._settle_tests()
        # A verdict asks for nothing, so the work of the turn before it still counts.
        self._turn = LastTurn(text, self._turn if judgement else None)

    def asked(self, event: BriefEvent) -> None:
        """Add the prompt of a subagent or an accepted plan, which an agent wrote."""
        if not self._prompts:
            self._prompts.append(event.event_uid)
        self._settle_tests()
        self._turn = LastTurn()

    def intervened(self, event: BriefEvent) -> None:
        self._turn.interrupt = event.event_uid

    def went_back(self, event: BriefEvent) -> None:
        """Note that the person undid the last turn, which is on an abandoned branch now."""
        self._turn.interrupt, self._turn.is_undone = event.event_uid, True

    def plan_handed_over(self, finished: FinishedCall) -> None:
        """Note that a person accepted a plan. Later work in this session removes the note."""
        self._turn.plan = finished.call.event_uid, finished.result.event_uid

    def answer(self, event: BriefEvent) -> None:
        """Add a text that the model wrote."""
        self._has_output = True
        self._turn.answered(event)

    def call(self, event: BriefEvent) -> None:
        # Work after a verdict may change the result, so the verdict no longer counts.
        self._has_output, self._verdict = True, None
        self._turn.called(event)

    def add(self, finished: FinishedCall) -> None:
        self._turn.add(finished)
        if "edit" in finished.kinds and not finished.failed:
            self._has_changed = True
            self._delivered = ()
            if self._test is not None and not self._test[0]:
                # The edit may have fixed the failed tests. Only another test run can show it.
                self._test = None
        kind = finished.result.native_kind or ""
        if finished.is_answer:
            self._turn.answered(finished.call)
        if kind.startswith(RESULT):
            self._skill_ended(finished, verdict_of(kind.removeprefix(RESULT)))

    def _skill_ended(self, finished: FinishedCall, judgement: str) -> None:
        is_decided = judgement in ("pass", "fail")
        self._test = (judgement == "pass", finished_uids(finished)) if is_decided else None
        self._turn.is_skipped = not is_decided
        self._turn.has_tested = is_decided

    def tested(self, run: TestRun, finished: FinishedCall) -> None:
        if run.passed is None or "human_intervention" in finished.result.marks:
            return
        if not run.passed and run.failed_count is None and self._did_not_run(finished):
            return
        if not run.passed and is_experiment(self._texts.words(finished.call)):
            return
        self._test = run.passed, (run.event_uid, run.result_uid)
        self._turn.has_tested = True

    def _did_not_run(self, finished: FinishedCall) -> bool:
        if finished.result.exit_code in (126, 127):
            return True
        return _NOT_RUN.search(self._texts.words(finished.result)) is not None

    def delivered(self, delivered: list[Delivery], finished: FinishedCall) -> None:
        """Note that a call committed, pushed or opened a pull request, or tried to."""
        if "human_intervention" in finished.result.marks:
            # A person refused the call, so it counts neither as delivered nor as failed.
            return
        for one in delivered:
            if one.arrived:
                self._delivered = finished_uids(finished)
                self._turn.delivered(one.kind, self._delivered)
                if self._test is not None and not self._test[0]:
                    # The work was delivered in spite of failed tests, so these no longer count.
                    self._test = None
            elif one.arrived is None:
                self._turn.undelivered.pop(one.kind, None)
            else:
                self._turn.undelivered[one.kind] = finished_uids(finished)

    def turn_ended(self) -> None:
        """Note that the agent logged the end of the turn: an interrupt after it stops nothing."""
        self._turn.is_over = True

    def model_failed(self, event: BriefEvent) -> None:
        """Note an error that belongs to no call: the model could not be reached."""
        self._turn.broke_off(event)

    def _settle_tests(self) -> None:
        """At the end of a turn, ignore failed tests if the agent says that all tests pass, or that
        the failures have nothing to do with its work."""
        answer = self._turn.answer
        if self._test is None or self._test[0] or answer is None:
            return
        words = self._texts.ending(answer)
        if is_not_ours(words) or says_tests_pass(words):
            self._test = None

    # ------------------------------------------------------------ the result

    def result(self, open_calls: list[BriefEvent]) -> SessionOutcome:
        self._settle_tests()
        turn = self._turn
        if turn.plan is not None:
            return SessionOutcome("continued", "plan", turn.plan)
        is_done = turn.is_answered and (turn.is_over or turn.handed_over) and not turn.is_undone
        if turn.interrupt is not None and not is_done:
            return SessionOutcome("abandoned", "interrupted", (turn.interrupt,))
        if self._verdict is not None and not self._is_outweighed():
            judgement, uid = self._verdict
            return SessionOutcome(_OF_VERDICT[judgement], "last_word", (uid,))
        return self._ended(open_calls)

    def _is_outweighed(self) -> bool:
        """Whether the person only said thanks or ok, but the last tests failed, or the agent still
        has something to do."""
        if not self._is_mere_thanks:
            return False
        answer = self._turn.answer
        if answer is not None and announces_work(self._texts.ending(answer)):
            return True
        return self._test is not None and not self._test[0]

    def _ended(self, open_calls: list[BriefEvent]) -> SessionOutcome:
        turn = self._turn
        if turn.is_skipped:
            return SessionOutcome("unknown", "nothing")
        if not turn.is_answered:
            return self._broken_off(open_calls)
        assert turn.answer is not None
        words = self._texts.ending(turn.answer)
        if announces_work(words):
            return self._broken_off(open_calls)
        if is_unread_call(words):
            return SessionOutcome("fail", "error", (turn.answer.event_uid,))
        if turn.undelivered and (lost := self._undelivered(turn.answer, words)):
            return lost
        if turn.handed_over:
            return SessionOutcome("success", "commit", turn.handed_over)
        if self._test is not None and (turn.has_tested or not self._test[0]):
            return self._by_tests(*self._test)
        return self._answered(turn.answer, words)

    def _undelivered(self, answer: BriefEvent, words: str) -> SessionOutcome | None:
        """Return the outcome if a commit, a push or a pull request was tried and never arrived.

        None if the agent says that the commit exists all the same.
        """
        lost = self._turn.undelivered
        if set(lost) == {COMMIT} and says_committed(words):
            return None
        if ends_with_question(words):
            return SessionOutcome("unknown", "asked", (answer.event_uid,))
        return SessionOutcome("fail", "error", next(iter(lost.values())))

    def _answered(self, answer: BriefEvent, words: str) -> SessionOutcome:
        turn = self._turn
        if turn.failures and not turn.did_something:
            return SessionOutcome("fail", "error", first_few(turn.failures))
        if turn.lost_edits and not self._has_changed:
            # The agent tried to change files and did not succeed, whatever its answer says.
            return SessionOutcome("fail", "error", first_few(turn.lost_edits))
        if len(turn.request) <= _LONGEST_REQUEST and _HANDOVER.search(turn.request):
            return SessionOutcome("continued", "handover", (answer.event_uid,))
        if turn.has_changed:
            is_given_up = is_unsolved(words) and not self._delivered
        else:
            is_given_up = gave_up(self._texts.words(answer)) and not self._waits(words)
        if is_given_up:
            return SessionOutcome("fail", "gave_up", (answer.event_uid,))
        if self._waits(words):
            return SessionOutcome("unknown", "asked", (answer.event_uid,))
        if self._delivered:
            return SessionOutcome("success", "commit", self._delivered)
        if self._test is not None:
            return self._by_tests(*self._test)
        reason = "unverified" if self._has_changed else "answered"
        return SessionOutcome("success", reason, (answer.event_uid,))

    def _waits(self, words: str) -> bool:
        """Whether the agent asked back instead of doing what it was asked to do."""
        turn = self._turn
        if asks_to_choose(words) or (turn.is_refused and is_question(words)):
            return True
        is_order = bool(turn.request) and not is_question(turn.request)
        return is_order and not turn.has_changed and waits_for_person(words)

    @staticmethod
    def _by_tests(passed: bool, evidence: tuple[str, ...]) -> SessionOutcome:
        return SessionOutcome("success" if passed else "fail", "tests", evidence)

    def _broken_off(self, open_calls: list[BriefEvent]) -> SessionOutcome:
        """Return the outcome of a session whose last turn has no answer."""
        turn = self._turn
        if turn.handed_over:
            return SessionOutcome("success", "commit", turn.handed_over)
        still_open = [call for call in open_calls if call.seq >= turn.last_call]
        if still_open and not (turn.has_tested and all(map(self._only_delivers, still_open))):
            return SessionOutcome("unknown", "open")
        if self._test is not None and turn.has_tested:
            return self._by_tests(*self._test)
        if turn.error is not None:
            return SessionOutcome("fail", "error", (turn.error,))
        if self._prompts and not self._has_output:
            return SessionOutcome("abandoned", "no_output", tuple(self._prompts))
        if self._test is not None and not turn.has_begun:
            return self._by_tests(*self._test)
        return SessionOutcome("unknown", "nothing")

    def _only_delivers(self, call: BriefEvent) -> bool:
        """Whether a call commits or pushes what is done. Tools that copy a log when a commit is
        made leave such a call without a result."""
        return runs_shell(call.tool) and delivers(self._texts.command(call))


def finished_uids(finished: FinishedCall) -> tuple[str, str]:
    return finished.call.event_uid, finished.result.event_uid
