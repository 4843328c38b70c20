"""A store that is collected into, evicted from and looked at, as the tests of this room do it."""

from pathlib import Path

from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.config import Config, RetentionConfig
from session_memory.core.time import now_ms
from session_memory.retain.restore import RestoredSessions, restore
from session_memory.retain.retention_run import RetentionOutcome, retain
from session_memory.store import Store, open_store
from session_memory.testing.claude import ClaudeHome, ClaudeLog, usage

ANALYZED = "update sessions set analyzed_revision = revision, analyzed_at = 1 where uid = :uid"
LATER = now_ms() + 400 * 86_400_000


def analyzed(store: Store, *uids: str) -> None:
    """What counts for retention is that a session was analyzed as it is now."""
    with store.transaction():
        for uid in uids or store.sessions.uids():
            store.db.execute(ANALYZED, {"uid": uid})


def talk(log: ClaudeLog, *words: str) -> ClaudeLog:
    """Prompts, each answered with its own echo; every answer is 10 tokens."""
    for word in words:
        log.prompt(word)
        log.answer(f"{word}!", id=f"msg_{word}", used=usage(10))
    return log


class Keeper:
    """``limits`` may be changed between two runs; the clock is far ahead of every log."""

    def __init__(self, directory: Path, place: str) -> None:
        self.claude = ClaudeHome(directory / "home")
        self.archive = directory / "archive"
        self.limits = RetentionConfig(archive_dir=str(self.archive))
        self.place = place
        self._store: Store | None = None

    @property
    def store(self) -> Store:
        if self._store is None:
            self._store = open_store(self.place, durability="normal")
        return self._store

    @property
    def config(self) -> Config:
        return Config(retention=self.limits)

    def collect(self) -> None:
        self.claude.path.mkdir(exist_ok=True)
        self.claude.write()
        sync(self.store, self.config, roots(self.config, (self.claude.path,)), host="here")

    def retain(self, **how: object) -> RetentionOutcome:
        return retain(
            self.store, self.config, LATER, lambda uids: analyzed(self.store, *uids), **how
        )  # type: ignore[arg-type]

    def evict(self, *uids: str) -> RetentionOutcome:
        """Only these, whatever their age."""
        analyzed(self.store, *uids)
        others = [uid for uid in self.store.sessions.uids() if uid not in uids]
        with self.store.transaction():
            for uid in others:
                self.store.retention.pin(uid, 0)
        outcome = self.retain()
        with self.store.transaction():
            for uid in others:
                self.store.retention.unpin(uid)
        return outcome

    def restore(self, *uids: str) -> list[RestoredSessions]:
        return restore(self.store, self.config, list(uids) or None, LATER)

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None
