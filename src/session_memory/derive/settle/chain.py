"""Find the parent of a record: the event that it follows."""

from session_memory.adapters.base import Record
from session_memory.derive.settle.earlier import EarlierEvents
from session_memory.derive.settle.settled_rows import SettledRows
from session_memory.derive.settle.state import SettleState

HIDDEN_RECORDS = 8


class ParentChain:
    """Finds parents by native id: in this batch, among records without events, in the store."""

    def __init__(self, state: SettleState, settled: SettledRows, earlier: EarlierEvents) -> None:
        self._state = state
        self._settled = settled
        self._earlier = earlier
        self._recent: dict[str, int] = {}

    def parent_of(self, record: Record) -> int | None:
        """The seq of the event that is the parent of a record."""
        parent_id = record.parent_id
        if parent_id is None:
            return None
        # A record with events may have the same id as a hidden record. Search hidden records first:
        # otherwise the result depends on whether the other record is in this batch or stored.
        for hidden, seq in self._state.hidden:
            if hidden == parent_id:
                parent = seq
                break
        else:
            parent = self._recent.get(parent_id)
            if parent is not None:
                return parent
            parent = self._earlier.last_seq(parent_id)
        if self._state.branched and parent is not None and self._earlier.is_abandoned(parent):
            # The person returned to a branch that was abandoned.
            self._settled.branches_changed = True
        return parent

    def knows(self, native_id: str) -> bool:
        """Whether a record with this native id gave an event."""
        return native_id in self._recent or self._earlier.last_seq(native_id) is not None

    def append(self, record: Record, last: int) -> None:
        """Note the record's last event: it may be the parent of later records."""
        if record.native_id:
            # A second record with the same id and other content does not get the children of the
            # first one.
            self._recent.setdefault(record.native_id, last)
            if not record.is_sidechain:
                self._state.head = last

    def append_hidden(self, record: Record, parent: int | None) -> None:
        """Note a record without events: its children get its parent as their parent."""
        if record.native_id and not record.follows:
            state = self._state
            state.hidden = [*state.hidden, (record.native_id, parent)][-HIDDEN_RECORDS:]

    def move_head(self, native_id: str) -> None:
        """Let the session continue at a record, as its log says.

        From then on, branches are not inferred from prompts.
        """
        head = self._recent.get(native_id)
        if head is None and native_id:
            head = self._earlier.last_seq(native_id)
        self._state.head = head
        self._state.head_is_logged = self._state.branched = True
        self._settled.branches_changed = True
