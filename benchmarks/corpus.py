"""What is measured: a generated corpus with its true totals, real logs, and logs of one size.

The generator and the floors lie in a directory ``shared`` beside the checkout, or where
``SESSION_MEMORY_SHARED`` says.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from processes import CHECKOUT, Bench, Failed

KEPT = CHECKOUT / "build" / "bench"
PROJECTS = ".claude/projects"
# The budgets are meant for a corpus of this size or more.
FULL = 300_000_000
_NAMES = UUID("6d1f3c1e-6f0b-4d0e-9c55-3f8f6b1b2c11")
_SESSION = "00000000-0000-4000-8000-000000000001"


@dataclass(frozen=True)
class Corpus:
    home: Path
    truth: dict[str, Any]
    files: int
    bytes: int

    @property
    def is_full(self) -> bool:
        return self.bytes >= FULL


def shared() -> Path:
    """The directory with the generator, the floors and the sample logs."""
    given = os.environ.get("SESSION_MEMORY_SHARED")
    place = Path(given).expanduser() if given else CHECKOUT.parent / "shared"
    if not (place / "bench" / "gen_corpus.py").is_file():
        raise Failed(
            f"no generator at {place / 'bench' / 'gen_corpus.py'}\n"
            "hint: put the directory `shared` beside the checkout, or say where it is:"
            " SESSION_MEMORY_SHARED=/path/to/shared make bench"
        )
    return place


def find_corpus(bench: Bench, given: Path | None, sessions: int, megabytes: float) -> Corpus:
    """The corpus in ``given``; else the one generated for these figures, now or before."""
    home = given or KEPT / f"corpus-{sessions}-{megabytes:g}" / "home"
    truth = home.parent / "truth.json"
    if given and not (home / PROJECTS).is_dir():
        raise Failed(f"no {PROJECTS} below {home}\nhint: --corpus names a HOME directory")
    # The generator writes truth.json last: without it the corpus is not whole.
    if not truth.is_file():
        if given:
            raise Failed(f"no {truth}\nhint: it lies beside the HOME that gen_corpus.py makes")
        home.mkdir(parents=True, exist_ok=True)
        generator = shared() / "bench" / "gen_corpus.py"
        bench.script(generator, home, "--sessions", str(sessions), "--mb", f"{megabytes:g}")
    logs = list((home / PROJECTS).rglob("*.jsonl"))
    return Corpus(
        home=home,
        truth=json.loads(truth.read_text()),
        files=len(logs),
        bytes=sum(log.stat().st_size for log in logs),
    )


class OneLog:
    """One session of about ``size`` bytes, made of many: every id in it is new."""

    def __init__(self, home: Path, corpus: Corpus, size: int) -> None:
        self.home = home
        self.path = home / PROJECTS / "-bench-one-log" / f"{_SESSION}.jsonl"
        self.path.parent.mkdir(parents=True)
        self._last: str | None = None
        self._appended = 0
        written = 0
        with self.path.open("wb") as out:
            for line in self._lines(corpus):
                written += out.write(line)
                if written >= size:
                    break

    def _lines(self, corpus: Corpus) -> Iterator[bytes]:
        """Session after session, over and over: a small corpus can fill a large log, too."""
        logs = sorted((corpus.home / PROJECTS).glob("*/*.jsonl"))
        for again in count():
            for log in logs:
                if not log.name.startswith("agent-"):
                    yield from self._renamed_lines(log, f"{again} {log.stem}")

    def _renamed_lines(self, log: Path, salt: str) -> Iterator[bytes]:
        for line in log.read_bytes().splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            self._rename(record, salt)
            text = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
            yield text.encode() + b"\n"

    def _rename(self, record: dict[str, Any], salt: str) -> None:
        record["sessionId"] = _SESSION
        if parent := record.get("parentUuid"):
            record["parentUuid"] = _renamed(salt, parent)
        elif "parentUuid" in record:
            record["parentUuid"] = self._last
        if own := record.get("uuid"):
            record["uuid"] = self._last = _renamed(salt, own)
        if request := record.get("requestId"):
            record["requestId"] = f"req_{_renamed(salt, request)}"
        message = record.get("message")
        if isinstance(message, dict) and message.get("id"):
            message["id"] = f"msg_{_renamed(salt, message['id'])}"

    def append_a_line(self) -> None:
        """What the agent does when a person types a prompt."""
        self._appended += 1
        own = _renamed("appended", str(self._appended))
        record = {
            "type": "user",
            "uuid": own,
            "parentUuid": self._last,
            "sessionId": _SESSION,
            "isSidechain": False,
            "cwd": "/home/dev/work/one",
            "version": "2.1.200",
            "timestamp": f"2026-11-01T10:00:{self._appended % 60:02}.000Z",
            "message": {"role": "user", "content": f"and one thing more, {self._appended}"},
        }
        self._last = own
        with self.path.open("ab") as out:
            out.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")


def _renamed(salt: str, name: str) -> str:
    return str(uuid5(_NAMES, f"{salt} {name}"))
