"""What all pages share: the files that pages load, the navigation, and outlines of sessions."""

import time
from collections import OrderedDict
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from session_memory.core.freed_memory import give_back_memory
from session_memory.memory import Memory
from session_memory.web.assets import Assets
from session_memory.web.kept_values import KeptValues
from session_memory.web.one_at_a_time import OneAtATime

if TYPE_CHECKING:
    from session_memory.views.outline import Outline

# The parts of an outline are its turns, marks, pieces and responses, about 200 bytes each. The
# outline of a session with 100,000 events has 36,000 parts.
MOST_OUTLINES, MOST_PARTS = 24, 100_000
SLOW_S, REST = 0.3, 10


class RailPlace(NamedTuple):
    """A page in the navigation at the side. The keys ``g`` and ``key`` open it. It is also marked
    as current on pages whose path starts with one of ``below``."""

    path: str
    name: str
    icon: str
    key: str
    below: tuple[str, ...] = ()

    def is_at(self, path: str) -> bool:
        return path == self.path or bool(self.below) and path.startswith(self.below)


PLACES = (
    RailPlace("/", "Overview", "home", "o"),
    RailPlace("/sessions", "Sessions", "list", "s", ("/s/",)),
    RailPlace("/cost", "Cost", "money", "c"),
    RailPlace("/work", "Work", "bars", "w"),
    RailPlace("/learn", "Learn", "bulb", "l", ("/patterns", "/lessons", "/retro", "/errors")),
    RailPlace("/keep", "Keep", "box", "k"),
)


class _KeptOutline(NamedTuple):
    outline: "Outline"
    made_at: float
    took: float

    @property
    def parts(self) -> int:
        made = self.outline
        return len(made.turns) + len(made.marks) + len(made.pieces) + len(made.responses)

    def is_for(self, revision: int) -> bool:
        if self.outline.revision == revision:
            return True
        return self.took > SLOW_S and time.monotonic() - self.made_at < REST * self.took


class Site:
    """Values that all pages share. ``is_followed``: what agents write is collected at once."""

    def __init__(self, *, is_followed: bool = False, token: str = "") -> None:
        self.assets = Assets()
        self.is_followed = is_followed
        # Forms have a token of their own, so that no page contains the token of the cookie.
        self.form_token = sha256(f"form {token}".encode()).hexdigest()
        self.values = KeptValues()
        self._outlines: OrderedDict[str, _KeptOutline] = OrderedDict()
        self._making = OneAtATime()
        self._lock = Lock()

    @property
    def places(self) -> tuple[RailPlace, ...]:
        return PLACES

    def file(self, name: str) -> str:
        return self.assets.address(name)

    def kept_outline(self, uid: str) -> "Outline | None":
        """Return the last outline that was made of a session; None if it is not kept."""
        with self._lock:
            known = self._outlines.get(uid)
        return None if known is None else known.outline

    def outline(self, memory: Memory, uid: str, revision: int) -> "Outline":
        """Return the outline of a session. It is made once for each revision.

        The outline of a very long session takes a second. While such a session grows, an older one
        is returned for a while, so that its pages take at most a tenth of a processor."""
        with self._lock:
            known = self._outlines.get(uid)
            if known is not None and known.is_for(revision):
                self._outlines.move_to_end(uid)
                return known.outline
        # A page asks for several of its parts at once, and an outline of 100,000 events takes a
        # second and 100 MB. So one request makes the outline, and the others wait for it.
        with self._making.of(uid):
            return self._made(memory, uid, revision)

    def _made(self, memory: Memory, uid: str, revision: int) -> "Outline":
        with self._lock:
            known = self._outlines.get(uid)
        if known is not None and known.is_for(revision):
            return known.outline
        # Imported only with the first session that is opened, because it would delay the start.
        from session_memory.views.outline import Outline, outline  # noqa: PLC0415

        began = time.monotonic()
        made = outline(memory.store, uid)
        took = time.monotonic() - began
        if took > SLOW_S:
            # In memory, events that are no longer needed lie between the parts of the outline. The
            # outline is made anew in one piece, so that all the other memory can be given back.
            packed = msgspec.msgpack.encode(made)
            del made
            give_back_memory()
            made = msgspec.msgpack.decode(packed, type=Outline)
        self._keep(_KeptOutline(made, began, took))
        return made

    def _keep(self, kept: _KeptOutline) -> None:
        with self._lock:
            self._outlines[kept.outline.uid] = kept
            self._outlines.move_to_end(kept.outline.uid)
            parts = sum(one.parts for one in self._outlines.values())
            while len(self._outlines) > 1 and (
                len(self._outlines) > MOST_OUTLINES or parts > MOST_PARTS
            ):
                parts -= self._outlines.popitem(last=False)[1].parts
