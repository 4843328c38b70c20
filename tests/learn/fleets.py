"""A synthetic fleet: sessions of three agents in one repository, with a problem planted in some."""

from collections.abc import Callable, Sequence
from pathlib import Path

from session_memory.core.time import format_time, parse_time
from session_memory.learn.analyze import analyze
from session_memory.learn.curate import DecisionNote
from session_memory.learn.patterns import Pattern, patterns
from session_memory.store import Store
from session_memory.testing.claude import ClaudeHome, call
from session_memory.testing.codex import CodexHome, ran
from session_memory.testing.collecting import collect, new_store
from session_memory.testing.grok import GrokHome

AGENTS = ("claude", "codex", "grok")
REPO = "app"
DAY_MS = 86_400_000
ERROR = "ModuleNotFoundError: No module named 'zonal'"
BEFORE, APPLIED, AFTER = "2026-11-02T09:00:00Z", "2026-11-05T12:00:00Z", "2026-11-06T09:00:00Z"


def trace(error: str, path: str = "/home/mira/code/app/src/main.py", line: int = 7) -> str:
    return f'Traceback (most recent call last):\n  File "{path}", line {line}, in <module>\n{error}'


def at(time: str, who: str = "mira", *, why: str = "", force: bool = False) -> DecisionNote:
    return DecisionNote(parse_time(time), who, why, force)


class SyntheticFleet:
    """Every session is harmless work; where ``problem`` is told, the error comes first, and an
    edit resolves it."""

    def __init__(self, root: Path, *, cwd: str = "/home/mira/code/app") -> None:
        self.root = root
        self.claude = ClaudeHome(root, cwd=cwd)
        self.codex = CodexHome(root)
        self.grok = GrokHome(root, cwd=cwd)
        self.cwd = cwd
        self._made = 0

    def go_to(self, time: str) -> None:
        """Whatever is written from now on happens then."""
        now = parse_time(time)
        self.claude.clock.tick(now - self.claude.clock.ms)
        self.codex.clock.tick(now - self.codex.clock.ms)
        self.grok.clock.tick(now - self.grok.clock.ms)

    def sessions(self, count: int, *, problem: str | None = None, agent: str = "claude") -> None:
        for _ in range(count):
            self.session(agent, problem=problem)

    def daily(self, day: str, problems: Sequence[str | None], *, agent: str = "claude") -> None:
        """One session on each day from ``day`` on, with these problems."""
        for number, problem in enumerate(problems):
            self.go_to(format_time(parse_time(f"{day}T09:00:00Z") + number * DAY_MS))
            self.session(agent, problem=problem)

    def session(
        self, agent: str, *, problem: str | None = None, prompt: str = "", fixed: bool = True
    ) -> str:
        """One more session; its uid."""
        self._made += 1
        name, prompt = f"s{self._made:04}", prompt or f"work on part {self._made}"
        make: dict[str, Callable[..., str]] = {
            "claude": self._claude,
            "codex": self._codex,
            "grok": self._grok,
        }
        return make[agent](name, prompt, problem, fixed)

    @property
    def _said(self) -> tuple[str, int]:
        return f"{self.cwd}/src/part{self._made}.py", self._made * 3

    def _claude(self, name: str, prompt: str, problem: str | None, fixed: bool) -> str:
        log = self.claude.session(f"session-{name}")
        log.prompt(prompt)
        if problem:
            log.run("python main.py", trace(problem, *self._said), exit_code=1)
            if fixed:
                log.answer(
                    call(
                        "Edit",
                        file_path=f"{self.cwd}/pyproject.toml",
                        old_string='deps = ["orjson"]',
                        new_string='deps = ["orjson", "zonal"]',
                    )
                )
                log.result("updated")
        if fixed or not problem:
            log.run("python main.py", "done")
        log.answer("That is it.")
        return log.uid

    def _codex(self, name: str, prompt: str, problem: str | None, fixed: bool) -> str:
        log = self.codex.session(name, cwd=self.cwd)
        log.turn(prompt, cwd=self.cwd)
        if problem:
            log.shell("python main.py")
            log.result(ran(1, trace(problem, *self._said)))
            if fixed:
                log.shell("uv add zonal")
                log.result(ran(0, "added"))
        if fixed or not problem:
            log.shell("python main.py")
            log.result(ran(0, "done"))
        log.answer("That is it.")
        log.complete()
        return log.uid

    def _grok(self, name: str, prompt: str, problem: str | None, fixed: bool) -> str:
        log = self.grok.session(f"grok-{name}")
        log.prompt(prompt)
        if problem:
            log.run("python main.py", trace(problem, *self._said), exit_code=1)
            if fixed:
                log.edit(f"{self.cwd}/pyproject.toml", "deps = []", "deps = ['zonal']")
        if fixed or not problem:
            log.run("python main.py", "done")
        log.say("That is it.")
        log.turn_ended()
        return f"grok:{log.session}"

    def write(self) -> Path:
        self.claude.write()
        self.codex.write()
        self.grok.write()
        return self.root

    def learned(self, store: Store | None = None) -> Store:
        """A store with all sessions as they are now, analyzed."""
        store = store or new_store()
        collect(store, self.write())
        analyze(store, now=parse_time(AFTER))
        return store


def recurring(store: Store, text: str = "zonal") -> Pattern:
    """The pattern of the planted error."""
    (found,) = [p for p in patterns(store) if p.type == "recurring_error" and text in p.detail]
    return found
