"""What an agent runtime does to a session, step by step, and a model that says what must follow.

A step is a plain dict, so that a process can announce it before and acknowledge it after: of a
process that died, all acknowledged steps must be there, and the last announced one wholly or not
at all.
"""

import random
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from session_memory.live.store import SessionStore

Step = dict[str, Any]

LONGEST_PATH = 40
LARGE = 150_000


def text(tag: str, length: int) -> str:
    return (f"{tag} " * (length // (len(tag) + 1) + 1))[:length]


@dataclass(frozen=True)
class Seen:
    """A session as a reader finds it."""

    said: dict[int, str]
    path: list[int]
    context: list[int]

    @classmethod
    def of(cls, store: SessionStore, session: str) -> "Seen | None":
        if store.get_session(session) is None:
            return None
        return cls(
            {message.seq: str(message.content) for message in store.load_all_messages(session)},
            [message.seq for message in store.load_path(session)],
            [message.seq for message in store.load_active_messages(session)],
        )


@dataclass
class Model:
    """What a session must look like after the steps that were taken."""

    said: dict[int, str] = field(default_factory=dict)
    path: list[int] = field(default_factory=list)
    folds: list[tuple[list[int], int]] = field(default_factory=list)
    next: int = 1

    def take(self, step: Step) -> list[int]:
        """The seqs that the step gives."""
        match step["do"]:
            case "append":
                added = self._say(step["lengths"], step["tag"])
                self.path += added
                return added
            case "fold":
                added = self._say([step["length"]], step["tag"])
                self.folds.append((step["members"], added[0]))
                return added
            case "unfold":
                del self.folds[-1]
            case "rewind":
                del self.path[self.path.index(step["to"]) + 1 :]
        return []

    def _say(self, lengths: list[int], tag: str) -> list[int]:
        seqs = list(range(self.next, self.next + len(lengths)))
        for seq, length in zip(seqs, lengths, strict=True):
            self.said[seq] = text(f"{tag}/{seq}", length)
        self.next += len(lengths)
        return seqs

    def context(self) -> list[int]:
        shown = list(self.path)
        for members, note in self.folds:
            if set(members) <= set(shown):
                first = shown.index(members[0])
                shown[first] = note
                shown = [seq for seq in shown if seq not in members]
        return shown

    def seen(self) -> Seen:
        return Seen(dict(self.said), list(self.path), self.context())


def perform(store: SessionStore, step: Step) -> list[int]:
    """Do it; the seqs of what was added."""
    session = step["session"]
    match step["do"]:
        case "create":
            store.create_session(session_id=session)
        case "append":
            items = [
                {"role": "user", "content": text(f"{step['tag']}/{step['first'] + n}", length)}
                for n, length in enumerate(step["lengths"])
            ]
            return store.append_messages(session, items, key=step.get("key"))
        case "fold":
            members = step["members"]
            note = text(f"{step['tag']}/{step['first']}", step["length"])
            _, seq = store.record_compaction(
                session,
                from_seq=members[0],
                to_seq=members[-1],
                note_content=note,
            )
            return [seq]
        case "unfold":
            store.undo_compaction(session)
        case "rewind":
            store.rewind(session, step["to"])
        case unknown:
            raise AssertionError(unknown)
    return []


@dataclass
class Storyteller:
    """Thinks of the next step; ``tag`` keeps apart what different ones say."""

    tag: str
    chance: random.Random
    models: dict[str, Model] = field(default_factory=dict)
    numbers: "count[int]" = field(default_factory=count)

    def next_step(self) -> Step:
        session = next(reversed(self.models), None)
        if session is None or len(self.models[session].path) > LONGEST_PATH:
            return {"do": "create", "session": f"{self.tag}-{next(self.numbers)}"}
        model = self.models[session]
        step: Step = {"session": session, "tag": self.tag, "first": model.next}
        shown, at = model.context(), self.chance.random()
        if at < 0.2 and len(shown) > 5:
            end = self.chance.randrange(2, len(shown) - 1)
            return {**step, "do": "fold", "members": shown[:end], "length": 300}
        if at < 0.25 and model.folds and model.folds[-1][1] in shown:
            return {**step, "do": "unfold"}
        if at < 0.3 and len(model.path) > 4:
            return {**step, "do": "rewind", "to": self.chance.choice(model.path[2:-1])}
        lengths = [self._length() for _ in range(self.chance.choice((1, 1, 1, 1, 2, 5)))]
        return {**step, "do": "append", "lengths": lengths, "key": self._key()}

    def _length(self) -> int:
        return LARGE if self.chance.random() < 0.05 else self.chance.randrange(10, 3000)

    def _key(self) -> str | None:
        return f"key-{next(self.numbers)}" if self.chance.random() < 0.3 else None

    def took(self, step: Step) -> list[int]:
        if step["do"] == "create":
            self.models[step["session"]] = Model()
            return []
        return self.models[step["session"]].take(step)
