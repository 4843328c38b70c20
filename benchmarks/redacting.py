"""How well secrets are found, and what it costs, with and without hyperscan.

    python benchmarks/redacting.py [HOME …] [--megabytes 100] [--only labels]

HOME is a directory with logs, as the other measurements take it. Precision and recall come from
`secret_labels.py`. The floor of the speed is decoding every line with msgspec; both scanners must
find the same. Hostile texts are the worst that were found, repeated. Nothing is written.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import secret_labels

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


# Many words of rules, values that are judged from each of their words, marks of views everywhere,
# and nothing but secrets.
HOSTILE = (
    *("authorization=", "glpat-x.", "-pypi-AgE", "pwd=", "://", "sk-", "token", "eyJ", ":AA"),
    *("\x1b", "\0", "a\x1b[1mtoken", "\\u0067hp_", "%67hp_", "sk-a1B2c3\n", "\\nglrt-"),
    *("password=\x1b[1ma1b2c3d4e5f6 ", "password=a1b2c3d4e5f6\\na1b2c3d4 "),
    *("https://u:\x1b[mabc1d2@h/ ", "token=abcd1234efgh\\n"),
    *("WEBHOOK_SECRET=F91\\n", "\\nQ~", "-_pat= ", " -w a=b;", "DB_PASS=vgaQ22SyFa!\n"),
    *("password=hunter2x7 ", "token=\x1b[1ma1b2c3d4e5f6 ", "gh" + "p_" + "a1B2" * 9 + "\x1b[m "),
)


def measure_hostile(size: int = 500_000) -> None:
    """Print the seconds for a megabyte of each hostile text, the worst first."""
    hide_lines(b"compiles the rules")
    costs = []
    for part in HOSTILE:
        text = (part * (size // len(part))).encode()
        speed, _ = measured(hidden, [text])
        costs.append((1 / speed, part))
    for seconds, part in sorted(costs, reverse=True):
        print(f"hostile: {seconds:.2f} s/MB {part!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("homes", type=Path, nargs="*")
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--only", choices=["labels"])
    asked = parser.parse_args()
    secret_labels.report(asked.homes)
    if asked.only == "labels":
        return
    measure_hostile()
    if not asked.homes:
        return
    data = list(logs(asked.homes[0], asked.megabytes * 1_000_000))
    print(f"{sum(map(len, data)) / 1e6:,.0f} MB in {len(data):,} logs")
    print(f"floor, every line decoded: {measured(decoded, data)[0]:,.0f} MB/s")
    ways = {"one word after the other": one_by_one(detection.TOKEN_WORDS, detection._ANY_CASE)}
    try:
        ways["all at once (hyperscan)"] = at_once(detection.TOKEN_WORDS, detection._ANY_CASE)
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
