"""The memory that the tools ask: opened by the first question, and opened again after a failure."""

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from session_memory.core.errors import (
    AmbiguousSession,
    SessionEvicted,
    SessionMemoryError,
    StoreError,
    UnknownEvent,
    UnknownSession,
)
from session_memory.core.text import visible
from session_memory.core.time import now_ms, parse_time
from session_memory.mcp.catalog import ToolError, checked_arguments
from session_memory.memory import Memory
from session_memory.redact import mask
from session_memory.render.answer_text import AnswerText
from session_memory.store.recall import Recall
from session_memory.store.session_pages import SessionConditions, SessionPages
from session_memory.views.current_repository import CurrentRepository, FileThen
from session_memory.views.figures import age, plural
from session_memory.views.matching import is_like

EVERYWHERE = "*"
LONGEST_ERROR = 600
# Errors about a wrong name in the question. The store is fine and stays open.
_WRONG_NAMES = (AmbiguousSession, SessionEvicted, UnknownEvent, UnknownSession)


class Question:
    """One call of a tool: the memory that is asked, and the answer as far as it is written.

    ``repo`` is the repository to search, as a name or a pattern; None means all repositories.
    ``is_asked``: the caller named the repository. Otherwise it is that of the working directory.
    """

    def __init__(
        self, memory: Memory, place: CurrentRepository, arguments: dict[str, Any], now: int
    ) -> None:
        self.memory = memory
        self.place = place
        self.now = now
        self.answer = AnswerText(arguments["tokens"])
        self._names = place.names
        # `Memory.sessions` is not used, because importing the code for titles takes long.
        self._pages = SessionPages(memory.store.db)
        self.is_asked = bool(arguments.get("repo"))
        self.repo = self._scope(arguments.get("repo"))

    def _scope(self, asked: str | None) -> str | None:
        """Return the repository to search, as a name or a pattern. None means all repositories."""
        if asked is not None:
            return None if asked.strip() == EVERYWHERE else asked.strip()
        if self.place.stored_name is None:
            stored = set(self._pages.values("repos"))
            self.place.stored_name = next((name for name in self._names if name in stored), None)
        return self.place.stored_name or (self._names[0] if self._names else None)

    def is_here(self, repo: str | None) -> bool:
        """Whether a session's repository is that of the working directory."""
        return repo is not None and repo in self._names

    @property
    def repos(self) -> list[str] | None:
        """Names of the repositories to search, as the store has them. None means all of them."""
        if self.repo is None:
            return None
        return [one for one in self._pages.values("repos") if is_like(one, self.repo)]

    def admits(self, repo: str | None) -> bool:
        """Whether the question is about this repository."""
        return self.repo is None or (repo is not None and is_like(repo, self.repo))

    def repo_of(self, uid: str) -> str | None:
        row = self.memory.store.sessions.row(uid)
        return row.repo if row else None

    @staticmethod
    def moment(text: str | None) -> int | None:
        return parse_time(text) if text else None

    def changes(
        self, sessions: Iterable[tuple[str | None, int | None, Iterable[str]]]
    ) -> dict[FileThen, str]:
        """Return, for each file, what happened to it since the session that edited it ended.

        ``sessions`` are ``(repository, end, paths)``. Sessions of other repositories, and sessions
        whose end is unknown, are left out. Git is asked once for all files."""
        return self.place.changes_since(
            FileThen(path, ended)
            for repo, ended, paths in sessions
            if ended is not None and self.is_here(repo)
            for path in paths
        )

    def age(self, moment: int | None) -> str:
        return age(moment, self.now) or "undated"

    def nothing(self, what: str, *, everywhere: bool = False) -> None:
        """Say that nothing was found, and what was searched: the scope, or ``everywhere``."""
        store, repo = self.memory.store, None if everywhere else self.repo
        named = tuple(one for one in self._pages.values("repos") if repo and is_like(one, repo))
        number = self._pages.count(SessionConditions(repos=named if repo else None))
        where = f" of {repo}" if repo else " of all repositories"
        self.answer.say(f"{what} (searched {plural(number, 'session')}{where}, {self._state()}).")
        if repo and not self.is_asked and (stored := store.sessions.count()) > number:
            others = plural(stored - number, "session")
            self.answer.say(f'{others} of other repositories were not searched; repo="*" does.')

    def _state(self) -> str:
        store = self.memory.store
        waiting = store.sessions.count() - Recall(store.db).count()
        newest = self._pages.page(SessionConditions(), "newest", 1)
        when = f", newest {self.age(self.moment(newest[0].ended_at))}" if newest else ""
        if waiting > 0:
            missing = plural(waiting, "session")
            return f"{missing} not analyzed yet: run session-memory analyze{when}"
        return f"index complete{when}"


class AskedMemory:
    """Answers calls of tools, one at a time and in one thread. The first call opens the store."""

    def __init__(self, store: str | None, config: Path | None, directory: Path | None = None):
        self._store = store
        self._config = config
        self._place = CurrentRepository(directory or Path.cwd())
        self._memory: Memory | None = None

    def answer(self, name: str, given: dict[str, Any]) -> str:
        arguments = checked_arguments(name, given)
        write: Callable[[Question, dict[str, Any]], None]
        write = import_module(f"session_memory.mcp.answers.{name}").write
        try:
            question = Question(self._opened(), self._place, arguments, now_ms())
            write(question, arguments)
        except SessionMemoryError as error:
            if isinstance(error, StoreError) and not isinstance(error, _WRONG_NAMES):
                self.close()
            hint = f" {error.hint}" if error.hint else ""
            message = " ".join(mask(f"{error}.{hint}").split())
            raise ToolError(visible(message)[:LONGEST_ERROR]) from error
        except ToolError:
            raise
        except Exception:
            self.close()
            raise
        return str(question.answer)

    def close(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory = None

    def _opened(self) -> Memory:
        if self._memory is None:
            self._memory = Memory(self._store, self._config, create=False)
        if not self._memory.store.index.is_complete:
            # To build the index may take minutes, but a tool has to answer within seconds.
            raise ToolError("the search index is not complete. Run: session-memory store reindex")
        return self._memory
