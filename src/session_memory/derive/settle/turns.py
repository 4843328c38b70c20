"""Settle prompts, answers and usage, and find where a turn ends."""

from hashlib import blake2b

from session_memory.adapters.base import MOST_BETWEEN, NativeEvent, NativeUsage, Record
from session_memory.adapters.detectors.tasks import task_in_plan, task_in_prompt
from session_memory.core.text import SUMMARY, one_line
from session_memory.derive.settle.settled_rows import SettledRows
from session_memory.derive.settle.state import (
    Completion,
    OpenMessage,
    QueuedPrompt,
    Response,
    SettleState,
)
from session_memory.derive.title_texts import is_weak, title_of
from session_memory.store.event_rows import EventRow

RECENT_RESPONSES = 3
PARALLEL_RESPONSES = 8
ANSWERS = 64
QUEUED = 64
TASK = "user/subagent_prompt"
_IMAGE = "[image]"


def key_of(words: str) -> str:
    """A hash of the words of a prompt. White space and the placeholders of images are ignored: two
    records of a prompt may differ in them."""
    data = "".join(words.replace(_IMAGE, "").split()).encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=8).hexdigest()


class TurnSettling:
    """Follows the turns of a session.

    ``usage_seq`` is the seq of the event that the usage of the last record belongs to. In the
    session of a subagent no person prompts: its prompts come from its parent.
    """

    def __init__(self, state: SettleState, settled: SettledRows, *, is_subagent: bool) -> None:
        self.usage_seq = 0
        self._state = state
        self._settled = settled
        self._is_subagent = is_subagent

    def settle_prompt(self, event: NativeEvent, owned: bool) -> None:
        """Begin a turn at a prompt.

        A prompt while the agent works, or after an interrupt, is a ``human_intervention``. A plan
        that a person accepted begins a turn too, but is no prompt of a person.
        """
        state = self._state
        state.answers = []
        if state.queued:
            self._drop_queued(key_of(event.text))
        self._note_words(event.text, is_plan=event.kind == "lifecycle")
        if self._is_subagent:
            event.kind, event.marks, event.is_prompt = "lifecycle", (), False
            return
        if owned and state.task_prompt is None:
            is_plan = event.kind == "lifecycle"
            state.task_prompt = (task_in_plan if is_plan else task_in_prompt)(event.text)
        working = any(call.seq >= state.last_prompt for call in state.open_calls.values())
        if (state.after_interrupt or working) and event.kind == "user_msg":
            event.kind, event.marks = "human_intervention", ("user_msg", *event.marks)
        state.after_interrupt = False
        state.last_prompt = state.next_seq
        if owned and event.kind != "lifecycle":
            state.turns += 1

    def note_task(self, words: str) -> None:
        """Note the task of a subagent, which the session that started it wrote."""
        if self._is_subagent:
            self._note_words(words)

    def _note_words(self, words: str, *, is_plan: bool = False) -> None:
        """Keep the first words that say what the session is about: they may be its title."""
        first = self._state.first_prompt
        if words and (first is None or (is_weak(first) and not is_weak(words))):
            self._state.first_prompt = title_of(words)
            self._state.is_plan = is_plan

    # ------------------------------------------------------------ prompts that wait

    def settle_queued(self, event: NativeEvent, owned: bool) -> None:
        """Settle a prompt that was typed while the agent worked, or what became of such prompts.

        Some are never logged again, so a queued prompt counts at once. If it is logged again, the
        later record says whether it is a prompt, and the earlier event becomes ``lifecycle``.
        """
        state = self._state
        if event.queued == "repeated":
            if state.queued:
                self._drop_queued(key_of(event.text))
        elif event.queued == "taken_back":
            while state.queued:
                self._drop_queued(state.queued[0].key)
        elif not self._is_subagent:
            event.kind, event.marks = "human_intervention", ("user_msg",)
            self._note_words(event.text)
            queued = QueuedPrompt(state.next_seq - 1, key_of(event.text), owned)
            state.queued = [*state.queued, queued][-QUEUED:]
            if owned:
                state.turns += 1

    def _drop_queued(self, key: str) -> None:
        state, settled = self._state, self._settled
        queued = next((one for one in state.queued if one.key == key), None)
        if queued is None:
            return
        state.queued = [one for one in state.queued if one is not queued]
        if not queued.owned:
            return
        state.turns -= 1
        if queued.seq not in settled.rows:
            settled.reclassed.add(queued.seq)
        settled.amend(queued.seq, "kind", "lifecycle")
        settled.amend(queued.seq, "marks", "")

    # ------------------------------------------------------------ tokens

    def add_tokens(self, row: EventRow, usage: NativeUsage | None) -> None:
        """Store a response's output tokens at its last block instead of the block before."""
        output = usage.output_tokens if usage is not None else 0
        # The session itself has one response at a time; its sidechains answer in parallel.
        if row.is_sidechain:
            responses, limit = self._state.side_responses, PARALLEL_RESPONSES
        else:
            responses, limit = self._state.responses, RECENT_RESPONSES
        for response in responses:
            if response.id == row.response_id:
                output = max(output, response.output)
                self._settled.amend(response.seq, "tokens", 0)
                response.seq, response.output = row.seq, output
                break
        else:
            responses.append(Response(row.response_id or "", row.seq, output))
            if len(responses) > limit:
                del responses[0]
        row.tokens = output

    def add_answer(self, seq: int) -> None:
        """Note an answer without a response id: a later record may say what it used."""
        self._state.answers = [*self._state.answers, seq][-ANSWERS:]

    def settle_usage(self, record: Record, usage: NativeUsage) -> None:
        """Find the event that the usage of a record belongs to.

        If the record has no answer itself, its usage is that of the answers since the last such
        record.
        """
        events, answers = record.events, self._state.answers
        given = sum(not event.is_repeated for event in events)
        self.usage_seq = max(self._state.next_seq + given - 1, 0)
        if usage.is_of_session:
            # Usage of the whole session belongs to its first event, however much was read before.
            self.usage_seq = 0
            return
        if usage.is_reported:
            # Usage of a subagent belongs to the call that started it, not to an answer here.
            call = self._state.open_calls.get(record.link.call_id) if record.link else None
            self.usage_seq = self.usage_seq if call is None else max(call.seq - 1, 0)
            return
        if (events and events[0].kind != "completion") or not answers:
            return
        for seq in answers:
            self._settled.amend(seq, "response_id", usage.usage_id)
        self._settled.amend(answers[-1], "tokens", usage.output_tokens)
        self.usage_seq, self._state.answers = answers[-1], []

    # ------------------------------------------------------------ the end of a turn

    def complete(self, row: EventRow) -> None:
        """Mark an answer as the end of its turn. `reopen` undoes it if the agent continues."""
        self._state.completions[row.is_sidechain] = Completion(row.seq, row.marks)
        row.marks = f"{row.marks},completion" if row.marks else "completion"

    def reopen(self, record: Record, event: NativeEvent) -> None:
        """Undo `complete` if the agent continues, or logs the end of the turn itself."""
        completions = self._state.completions
        if (event.role in ("assistant", "tool") and event.kind != "lifecycle") or (
            event.kind == "completion"
        ):
            completion = completions.pop(record.is_sidechain, None)
            if completion is not None:
                self._settled.amend(completion.seq, "marks", completion.marks)
        elif event.is_prompt:
            completions.pop(record.is_sidechain, None)

    # ------------------------------------------------------------ messages in chunks

    def open_message(self, record: Record, row: EventRow, owned: bool) -> None:
        """Note the last message of a log that writes messages in chunks."""
        end = record.offset + record.length
        self._state.message = (
            OpenMessage(row.seq, row.source_id, record.offset, end, row.summary) if owned else None
        )

    def extend_message(self, record: Record, source_id: int) -> None:
        """Add a chunk to the last message: its event reaches to the end of this record."""
        message = self._state.message
        if message is None or message.source_id != source_id:
            return
        if not 0 <= record.offset - message.end <= MOST_BETWEEN:
            return
        settled = self._settled
        message.end = record.offset + record.length
        row = settled.rows.get(message.seq)
        if row is None:
            settled.extended.add(message.seq)
        else:
            row.words += record.text
        settled.amend(message.seq, "length", message.end - message.place)
        if len(message.text) < SUMMARY:
            message.text = one_line(message.text + record.text)
            settled.amend(message.seq, "summary", message.text)
