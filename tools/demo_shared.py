"""What the invented sessions of all agents share: their world, a clock, and ids.

Nothing here depends on the day or the machine, so that the same stories always give the same bytes.
"""

import json
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

TIDEWATCH = "/home/mira/code/tidewatch"
SEED_LIBRARY = "/home/mira/code/seed-library"

Files = dict[str, bytes]
Line = dict[str, Any]

_NAMESPACE = uuid.UUID("6f0d7f5e-2c1b-4d7a-9a53-0b8e4c6d1f29")


class Clock:
    """Times of one session: each is a few seconds after the one before."""

    def __init__(self, start: str) -> None:
        self._now = datetime.fromisoformat(start)

    def __call__(self, seconds: float = 4.2) -> str:
        self._now += timedelta(seconds=seconds)
        return self._now.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def ms(self, seconds: float = 4.2) -> int:
        self(seconds)
        return round(self._now.timestamp() * 1000)

    def sql(self, seconds: float = 4.2) -> str:
        self(seconds)
        return self._now.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


class Ids:
    """Ids of one session, drawn from its name."""

    def __init__(self, name: str) -> None:
        self._name, self._drawn = name, 0

    def __call__(self) -> str:
        self._drawn += 1
        return str(uuid.uuid5(_NAMESPACE, f"{self._name} {self._drawn}"))

    def short(self, prefix: str, length: int = 12) -> str:
        return prefix + self().replace("-", "")[:length]


def jsonl(lines: Iterable[Line]) -> bytes:
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


def document(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()
