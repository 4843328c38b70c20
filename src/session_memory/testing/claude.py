"""Write Claude Code logs for tests, with the lines that the real program writes.

    home = ClaudeHome(tmp_path)
    log = home.session("alpha")
    log.prompt("make the tests pass")
    log.answer("I run them.", call("Bash", command="pytest -q"))
    log.result("1 failed", is_error=True)
    home.write()

Ids and times depend only on the order of the calls, so the same calls write the same bytes. Lines
stay in memory until `ClaudeHome.write`; ``log.data`` is the contents of the file.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from session_memory.testing.claude_log import MODEL, VERSION, ClaudeLog
from session_memory.testing.claude_parts import Json, call, line_of, text, thinking, usage
from session_memory.testing.clock import Clock

__all__ = [
    "MODEL",
    "VERSION",
    "ClaudeHome",
    "ClaudeLog",
    "Clock",
    "Json",
    "call",
    "line_of",
    "slug_of",
    "text",
    "thinking",
    "usage",
]

_PROJECTS = Path(".claude", "projects")


class ClaudeHome:
    """A home directory with the logs of one or more projects."""

    def __init__(self, path: Path, *, cwd: str = "/home/mira/code/app") -> None:
        self.path = path
        self.cwd = cwd
        self.clock = Clock()
        self.logs: list[ClaudeLog] = []

    def session(
        self, session: str = "alpha", *, version: str = VERSION, slug: str = ""
    ) -> ClaudeLog:
        """Add a new session and return its log. ``slug`` is the name of its project's directory."""
        directory = _PROJECTS / (slug or slug_of(self.cwd))
        return self.keep(
            ClaudeLog(
                directory / f"{session}.jsonl",
                session,
                self.clock,
                version=version,
                cwd=self.cwd,
            )
        )

    def fork(self, log: ClaudeLog, session: str, **how: Any) -> ClaudeLog:
        return self.keep(log.fork(session, **how))

    def subagent(self, log: ClaudeLog, agent: str, **how: Any) -> ClaudeLog:
        return self.keep(log.subagent(agent, **how))

    def keep(self, log: ClaudeLog) -> ClaudeLog:
        """Add a log, so that `write` writes it, too."""
        self.logs.append(log)
        return log

    def write(self, logs: Iterable[ClaudeLog] | None = None) -> Path:
        """Write all files, or only those of ``logs``, and return the home directory."""
        for log in self.logs if logs is None else logs:
            for place, body in {log.place: log.data, **log.files}.items():
                target = self.path / place
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(body)
        return self.path


def slug_of(cwd: str) -> str:
    """Return the name of the directory below ``projects`` for a working directory."""
    return "".join(c if c.isascii() and (c.isalnum() or c == "-") else "-" for c in cwd)
