"""The state of a log of Grok from line to line. It is saved in the cursor after every line, so its
size is bounded."""

import msgspec

from session_memory.adapters.base import MOST_BETWEEN
from session_memory.adapters.cursor_state import StateText, bounded

OPEN_CALLS = 256
ANSWERED_CALLS = 64
CHILDREN = 256
TASKS = 64
DETOURS = 128
# Real ids are a fifth as long. Longer ones are not noted, because a few would fill the state.
LONGEST_ID = 200


class LogState(msgspec.Struct, array_like=True):
    """What the adapter remembers after a line of ``updates.jsonl``, to translate the next one.

    - ``saying``: the kind of the last message, if the last line was a chunk of it; ``speaker``: its
      session; ``said_to``: the offset at which it ends.
    - ``turn``: the agent's number of the present turn; ``asked``: the number of prompts so far.
    - ``calls``: the open calls, each with its tool and description; ``inputs``: hashes of their
      arguments; ``tasks``: the calls that run in the background.
    - ``is_woken``: no person began the turn. ``is_refused``: a person refused one of its calls.
    - ``children``: the running subagents, each with the turn that started it; ``counted_in``: the
      ended subagents whose usage is in the figures of a turn, each with this turn.
    - ``closed``: the last turn that ended; ``closed_with``: the subagents in its figures.
    - ``detours``: by how much the number of prompts on the path differs from the agent's number of
      the turn, and from which turn on.
    """

    saying: str = ""
    turn: int | None = None
    is_marked: bool = False
    is_running: bool = False
    is_answering: bool = False
    is_woken: bool = False
    is_refused: bool = False
    asked: int = 0
    detours: list[tuple[int, int]] = []
    model: str | None = None
    mode: str = "default"
    calls: dict[str, tuple[str, str]] = {}
    answered: list[str] = []
    children: dict[str, str] = {}
    counted_in: list[tuple[str, str]] = []
    closed: str = ""
    closed_with: list[str] = []
    tasks: dict[str, str] = {}
    speaker: str = ""
    said_to: int = 0
    inputs: dict[str, int] = {}

    # ------------------------------------------------------------ messages

    def interrupted(self, session: str, offset: int) -> bool:
        """Whether a chunk at ``offset`` cannot continue the last message: it is too far away, or of
        another session."""
        return session != self.speaker or not 0 <= offset - self.said_to <= MOST_BETWEEN

    # ------------------------------------------------------------ calls

    def opens(self, call_id: str, tool: str, about: str, given: int) -> None:
        if len(call_id) <= LONGEST_ID:
            bounded(self.calls, OPEN_CALLS)[call_id] = (tool[:LONGEST_ID], about[:200])
            bounded(self.inputs, OPEN_CALLS)[call_id] = given

    def answers(self, call_id: str) -> None:
        if len(call_id) > LONGEST_ID:
            return
        self.calls.pop(call_id, None)
        self.inputs.pop(call_id, None)
        self.answered = [*self.answered, call_id][-ANSWERED_CALLS:]

    def runs_on(self, task: str, call_id: str) -> None:
        """Note that a call continues in the background, with the id ``task``."""
        if max(len(task), len(call_id)) <= LONGEST_ID:
            bounded(self.tasks, TASKS)[task] = call_id

    # ------------------------------------------------------------ prompts

    def begins(self, turn: int | None, *, is_prompt: bool) -> None:
        """Begin the turn with the agent's number ``turn``. ``is_prompt``: a person's prompt begins
        it."""
        self.turn = turn
        place = self.asked if turn is None else turn
        shift = self.asked - place
        if shift != self._shift_at(place):
            self.detours = [*self.detours, (place, shift)][-DETOURS:]
        self.asked += is_prompt
        self.is_running, self.is_woken = True, not is_prompt
        self.is_answering = self.is_refused = False

    def goes_back(self, turn: int) -> int:
        """Go back to before the agent's turn ``turn``. Return the number of the prompt that began
        this turn, counted from 0 on the path."""
        place = max(turn + self._shift_at(turn), 0)
        self.asked = min(self.asked, place)
        self.detours = [detour for detour in self.detours if detour[0] <= turn]
        self.turn, self.is_running = None, False
        return place

    def _shift_at(self, turn: int) -> int:
        return next((shift for start, shift in reversed(self.detours) if start <= turn), 0)

    # ------------------------------------------------------------ subagents

    def starts_child(self, child: str, turn: str | None) -> None:
        if turn and turn != self.closed and max(len(turn), len(child)) <= LONGEST_ID:
            bounded(self.children, CHILDREN)[child] = turn

    def ends_child(self, child: str) -> None:
        """End a subagent. If the turn that started it still runs, the turn's figures include this
        subagent."""
        turn = self.children.pop(child, None)
        if turn and turn != self.closed:
            self.counted_in = [*self.counted_in, (turn, child)][-CHILDREN:]

    def closes(self, turn: str) -> tuple[str, ...]:
        """End a turn, and return the subagents whose usage is in its figures."""
        if turn != self.closed:
            self.closed_with = [child for owner, child in self.counted_in if owner == turn]
            self.counted_in = [pair for pair in self.counted_in if pair[0] != turn]
            self.closed = turn[:LONGEST_ID]
        self.is_running = False
        return tuple(self.closed_with)


_text = StateText(LogState)
saved, restored = _text.saved, _text.restored
