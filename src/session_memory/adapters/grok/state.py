"""What is remembered from line to line of a log. It is saved in the cursor after every line, so it
is small."""

import msgspec

from session_memory.adapters.base import MOST_BETWEEN
from session_memory.adapters.cursor_state import StateText, bounded

OPEN_CALLS = 256
ANSWERED_CALLS = 64
CHILDREN = 256
TASKS = 64
DETOURS = 128
# Real ids are a fifth as long. Longer ones are not remembered: a few would fill the state.
LONGEST_ID = 200


class LogState(msgspec.Struct, array_like=True):
    """The state of reading one ``updates.jsonl``.

    - ``saying``: the kind of message chunk that the last line was; ``speaker``: its session;
      ``said_to``: where it ends.
    - ``calls``: the open calls with their tools; ``inputs``: hashes of what they were given;
      ``tasks``: the ones in the background.
    - ``is_woken``: no person began the turn. ``is_refused``: a person refused one of its calls.
    - ``children``: the running subagents with the turn that started them; ``counted_in``: the ones
      whose usage the running turn contains.
    - ``detours``: from which turn on the number of prompts on the path differs from the agent's
      own count, and by how much.
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
        """Whether a chunk at a place cannot continue the last one: too far away, or another's."""
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
        """Note that a call continues in the background, under another id."""
        if max(len(task), len(call_id)) <= LONGEST_ID:
            bounded(self.tasks, TASKS)[task] = call_id

    # ------------------------------------------------------------ prompts

    def begins(self, turn: int | None, *, is_prompt: bool) -> None:
        """Begin a turn of the agent's own count. Not every turn begins with a person's prompt."""
        self.turn = turn
        place = self.asked if turn is None else turn
        shift = self.asked - place
        if shift != self._shift_at(place):
            self.detours = [*self.detours, (place, shift)][-DETOURS:]
        self.asked += is_prompt
        self.is_running, self.is_woken = True, not is_prompt
        self.is_answering = self.is_refused = False

    def goes_back(self, turn: int) -> int:
        """The prompt on the path, counted from 0, that began the agent's turn ``turn``."""
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
        """End a subagent. Its usage counts for the turn that started it, if that turn still
        runs."""
        turn = self.children.pop(child, None)
        if turn and turn != self.closed:
            self.counted_in = [*self.counted_in, (turn, child)][-CHILDREN:]

    def closes(self, turn: str) -> tuple[str, ...]:
        """End a turn; returns the subagents whose usage its figures contain."""
        if turn != self.closed:
            self.closed_with = [child for owner, child in self.counted_in if owner == turn]
            self.counted_in = [pair for pair in self.counted_in if pair[0] != turn]
            self.closed = turn[:LONGEST_ID]
        self.is_running = False
        return tuple(self.closed_with)


_text = StateText(LogState)
saved, restored = _text.saved, _text.restored
