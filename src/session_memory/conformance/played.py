"""Play a scenario as the scripted model: find out which part of it a request belongs to, answer
with the next reply of that part, and keep what was asked and answered."""

import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from session_memory.conformance.driver import Driver
from session_memory.conformance.place import AgentPlace
from session_memory.conformance.reply import CUT, HANG, Ids, ModelCall, Reply, TokenCounts
from session_memory.conformance.scenario import COMPACT, FORK, Scenario, ScriptedTurn, Step
from session_memory.conformance.sent import Sent
from session_memory.conformance.server import Served

MAIN, FORKED, SUMMARY, AUX = "main", "fork", "summary", "aux"
# Each part of a scenario numbers its requests from here, so that no two report the same tokens.
_FIRST_OF_SUBAGENTS, _FIRST_SUMMARY, _FIRST_AUX, _FIRST_OVER = 20, 60, 70, 200

# The summary is long, because some agents treat a short one as a failure.
_SUMMARY = (
    "The assistant looked at a small repository. It has one commit on the branch main and a file, "
    "README.md, with three lines: a title, an empty line and a sentence. The assistant listed the "
    "directory with the shell, which worked at the first attempt, and told the user what is there. "
    "No file was created, changed or deleted, no test was run, and no command failed. There are no "
    "open questions, no decisions to remember, and no errors that had to be mended. The user did "
    "not correct the assistant. Nothing is left to do before the next message of the user."
)


def tokens(number: int) -> TokenCounts:
    """Return the tokens of the request with this number. All numbers get different counts."""
    return TokenCounts(
        uncached=900 + 37 * number,
        cache_read=1000 + 64 * number,
        cache_write=100 + 7 * number,
        cache_write_1h=5 * number if number % 2 else 0,
        output=50 + 3 * number,
        reasoning=10 + number,
    )


@dataclass(frozen=True)
class AnsweredRequest:
    """A request that was answered.

    `lane` is the part of the scenario: main, the prompt of a subagent, the summary of a compaction,
    or aux, a request beside the conversation (for a title, a topic). `session` is the session that
    it belongs to: main, a fork ("fork", "fork 2"), or the prompt of a subagent.
    """

    lane: str
    session: str
    sent: Sent
    reply: Reply
    response_id: str
    call_ids: tuple[str, ...]
    at: float

    @property
    def in_full(self) -> bool:
        return not self.reply.error and self.reply.fault not in (HANG, CUT)


class Played:
    """The player of one scenario with one agent."""

    def __init__(self, driver: Driver, scenario: Scenario, place: AgentPlace, ids: Ids) -> None:
        self.requests: list[AnsweredRequest] = []
        self.others: list[str] = []
        self._driver, self._scenario, self._place, self._ids = driver, scenario, place, ids
        self._compacts = any(turn.start == COMPACT for turn in scenario.turns)
        prompts = (one for turn in scenario.turns for one in (turn.prompt, *turn.queued))
        self._prompts = [prompt for prompt in prompts if prompt]
        self._lanes: dict[str, list[tuple[Reply, bool]]] = {}
        self._numbers: Counter[str] = Counter()
        self._session = MAIN
        self._forks = 0
        self._skipped = 0
        # How many requests came after the end of the script.
        self.over = 0
        self._turn: ScriptedTurn | None = None
        # The last turn whose command was a prompt.
        self._command_of: ScriptedTurn | None = None
        # The prompts that the agent sent to the model. A command such as /compact may be one.
        self.prompts: list[str] = []
        self._lock = threading.Lock()
        for prompt, steps in scenario.subagents.items():
            last = driver.conclusion(steps[-1].text)
            self._lanes[prompt] = [*self._replies(steps[:-1]), (last, False)]

    def begin(self, turn: ScriptedTurn) -> None:
        """From now on, requests belong to this turn."""
        with self._lock:
            self._skipped += _waiting(self._lanes.get(MAIN, []))
            self._turn = turn
            if turn.start != COMPACT:
                self.prompts += [turn.prompt, *turn.queued]
            self._lanes[MAIN] = self._replies(turn.steps)
            if turn.start == FORK:
                self._forks += 1
                self._session = FORKED if self._forks == 1 else f"{FORKED} {self._forks}"
            if turn.start == COMPACT:
                # Some agents send the command to the model like a prompt.
                self._prompts.append(self._driver.compact_prompt)
                self._lanes[MAIN] = [(reply, True) for reply, _ in self._lanes[MAIN]]

    @property
    def skipped(self) -> int:
        """The number of replies in the script that no request asked for."""
        return self._skipped + sum(map(_waiting, self._lanes.values()))

    def _replies(self, steps: Sequence[Step]) -> list[tuple[Reply, bool]]:
        return [
            (self._filled(reply) if step.fills else reply, step.again)
            for step in steps
            if step.again or step.error not in self._driver.not_retried
            for reply in self._driver.replies(step, self._place)
        ]

    def _filled(self, reply: Reply) -> Reply:
        """Make the reply report a full context, if the agent compacts only then."""
        if self._driver.compact_prompt:
            return reply
        return replace(reply, usage=TokenCounts(self._driver.full_context))

    def lane_of(self, sent: Sent) -> str:
        """Return the part of the scenario that a request belongs to."""
        if self._compacts and self._driver.is_summary(sent):
            return SUMMARY
        if self._driver.is_aside(sent):
            return AUX
        text = sent.text
        if any(prompt in text for prompt in self._prompts):
            return MAIN
        return next((prompt for prompt in self._scenario.subagents if prompt in text), AUX)

    def serve(self, sent: Sent) -> Served:
        with self._lock:
            lane = self.lane_of(sent)
            self._note_command(lane)
            reply = self._next(lane, sent)
            reply = replace(reply, usage=self._reported(reply.usage))
            answer = None
            if not reply.error:
                answer = sent.wire.answer(reply, self._ids, sent.model)
            self.requests.append(
                AnsweredRequest(
                    lane,
                    self._session if lane in (MAIN, SUMMARY, AUX) else lane,
                    sent,
                    reply,
                    answer.response_id if answer else "",
                    answer.call_ids if answer else (),
                    round(time.time(), 3),
                )
            )
        if answer is None:
            return Served(status=reply.error, error=sent.wire.failure(reply.error))
        return Served(answer, reply.fault)

    def _reported(self, usage: TokenCounts) -> TokenCounts:
        """Set the counts of one-hour caches and reasoning to 0 if the agent does not log them."""
        if not self._driver.hour_cache:
            usage = replace(usage, cache_write_1h=0)
        return usage if self._driver.logs_reasoning else replace(usage, reasoning=0)

    def _note_command(self, lane: str) -> None:
        command = self._driver.compact_prompt
        is_answered = lane == MAIN and self._turn is not None and self._turn.start == COMPACT
        if is_answered and self._command_of is not self._turn:
            self._command_of = self._turn
            self.prompts.append(command)

    def _next(self, lane: str, sent: Sent) -> Reply:
        number = self._numbers[lane] = self._numbers[lane] + 1
        if lane == AUX:
            return Reply("Scripted", usage=tokens(_FIRST_AUX + number))
        if lane == SUMMARY:
            text = "\n".join([_SUMMARY, "The user wanted:", *self._prompts])
            summary = self._driver.summary_form.format(text)
            return Reply(summary, usage=tokens(_FIRST_SUMMARY + number))
        waiting = self._lanes[lane]
        if not waiting:
            self.over += 1
            return Reply("The script is over.", usage=tokens(_FIRST_OVER + self.over))
        reply, again = waiting[0]
        if not again:
            waiting.pop(0)
        calls = tuple(_resolved(call, sent) for call in reply.calls)
        first = 0
        if lane != MAIN:
            first = _FIRST_OF_SUBAGENTS * (1 + list(self._scenario.subagents).index(lane))
        usage = tokens(first + number) if reply.usage == TokenCounts() else reply.usage
        return replace(reply, calls=calls, usage=usage)


def _waiting(replies: list[tuple[Reply, bool]]) -> int:
    return sum(not again for _, again in replies)


def _resolved(call: ModelCall, sent: Sent) -> ModelCall:
    if callable(call.arguments):
        given: dict[str, Any] = call.arguments(sent)
        return replace(call, arguments=given)
    return call
