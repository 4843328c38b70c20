"""The last turn of a session: what was asked last, and evidence of how it ended."""

from session_memory.learn.digest.deliveries import STAGES
from session_memory.learn.digest.steps import FinishedCall
from session_memory.store.brief_events import BriefEvent


class LastTurn:
    """Evidence about the outcome of a session, collected since its last prompt.

    Most values are the uids of events. If the prompt only judges the work, evidence of the turn
    ``before`` it is kept.

    - ``request``: the prompt; empty if no person wrote it
    - ``answer``: the last text of the model; ``is_answered``: no call came after it
    - ``is_over``: the agent logged the end of the turn
    - ``is_undone``: the person undid a later turn
    - ``interrupt``, ``error``, ``plan``: an interruption, an error or an accepted plan; later work
      in the turn removes it
    - ``handed_over``: the last call that committed, pushed or opened a pull request
    - ``is_refused``: a person refused the last call, such as a question of the agent
    - ``is_skipped``: the last call of a skill neither passed nor failed
    - ``undelivered``: calls whose commit, push or pull request did not arrive, by kind
    - ``lost_edits``: edits that failed, with neither an edit nor a command after them
    """

    def __init__(self, request: str = "", before: "LastTurn | None" = None) -> None:
        self.request: str = request if before is None else before.request
        self.answer: BriefEvent | None = None
        self.is_answered = self.has_begun = self.did_something = False
        self.has_changed = self.has_tested = self.is_skipped = self.is_over = False
        self.is_undone = self.is_refused = False
        self.interrupt: str | None = None
        self.error: str | None = None
        self.plan: tuple[str, str] | None = None
        self.failures: list[str] = []
        self.last_call = 0
        self.handed_over: tuple[str, ...] = () if before is None else before.handed_over
        self.undelivered: dict[str, tuple[str, ...]] = {}
        self.lost_edits: list[str] = []
        if before is not None:
            self.has_changed, self.has_tested = before.has_changed, before.has_tested

    def answered(self, event: BriefEvent) -> None:
        self.answer, self.is_answered, self.has_begun = event, True, True
        self.is_over = self.is_undone = False
        self.error = self.interrupt = self.plan = None

    def called(self, event: BriefEvent) -> None:
        self.is_answered, self.has_begun, self.last_call = False, True, event.seq
        self.is_over = self.is_undone = False
        self.error = self.interrupt = self.plan = None

    def add(self, finished: FinishedCall) -> None:
        is_edit = "edit" in finished.kinds
        self.is_refused = "human_intervention" in finished.result.marks
        if finished.failed and is_edit:
            self.lost_edits.append(finished.result.event_uid)
        elif is_edit or finished.is_shell:
            self.lost_edits.clear()
        if not finished.failed:
            self.did_something, self.error = True, None
            self.has_changed |= is_edit
            return
        self.error = finished.result.event_uid
        if not finished.is_answer_no:
            self.failures.append(finished.result.event_uid)

    def delivered(self, kind: str, evidence: tuple[str, ...]) -> None:
        self.handed_over = evidence
        self.has_changed = True
        # A push that arrived needs its commit, and a pull request needs its push. So an earlier
        # attempt at these no longer counts as failed.
        for earlier in STAGES[: STAGES.index(kind) + 1]:
            self.undelivered.pop(earlier, None)

    def broke_off(self, event: BriefEvent) -> None:
        self.error, self.is_answered, self.has_begun = event.event_uid, False, True
