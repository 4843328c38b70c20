"""What looking for secrets costs: megabytes a second on a corpus, with and without hyperscan.

    python benchmarks/redacting.py HOME [--megabytes 100]

HOME is a directory with logs, as the other measurements take it. The floor is decoding every line
with msgspec; both scanners must find the same. Nothing is written.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from session_memory.redact import detection, hide_lines, secrets
from session_memory.redact.scan import Scan, at_once, one_by_one


def logs(home: Path, most: int) -> Iterator[bytes]:
    left = most
    for path in sorted(home.rglob("*.jsonl")):
        if left <= 0:
            return
        data = path.read_bytes()
        left -= len(data)
        yield data


def measured(work: Callable[[bytes], int], data: list[bytes]) -> tuple[float, int]:
    """Megabytes for each second of CPU, and what was counted."""
    started = time.process_time()
    counted = sum(work(piece) for piece in data)
    seconds = time.process_time() - started
    return sum(map(len, data)) / 1e6 / max(seconds, 1e-9), counted


def decoded(piece: bytes) -> int:
    return sum(is_record(line) for line in piece.split(b"\n"))


def is_record(line: bytes) -> bool:
    try:
        return msgspec.json.decode(line) is not None
    except msgspec.DecodeError:
        return False


def found(piece: bytes) -> int:
    return sum(1 for _ in secrets(piece))


def hidden(piece: bytes) -> int:
    return len(hide_lines(piece)) - len(piece)


def use(scan: Scan) -> None:
    detection._scan = lambda: scan  # type: ignore[assignment]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("--megabytes", type=int, default=100)
    asked = parser.parse_args()
    data = list(logs(asked.home, asked.megabytes * 1_000_000))
    print(f"{sum(map(len, data)) / 1e6:,.0f} MB in {len(data):,} logs")
    print(f"floor, every line decoded: {measured(decoded, data)[0]:,.0f} MB/s")
    ways = {
        "one word after the other": one_by_one(
            detection._IN_RUN, detection._EXACT, detection._ANY_CASE
        )
    }
    try:
        ways["all at once (hyperscan)"] = at_once(
            (*detection._IN_RUN, *detection._EXACT), detection._ANY_CASE
        )
        import hyperscan  # noqa: F401, PLC0415
    except ImportError:
        ways.popitem()
    for name, scan in ways.items():
        use(scan)
        speed, count = measured(found, data)
        masking, _ = measured(hidden, data)
        print(f"{name}: {speed:,.0f} MB/s, {count:,} secrets; masking {masking:,.0f} MB/s")


if __name__ == "__main__":
    main()
