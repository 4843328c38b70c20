"""Accounting: is every byte of every log in the store, and every token counted once?

    python benchmarks/accounting.py ROOT...

Collects each root into a store in memory and compares it with the files themselves, which are read
here with nothing but `json`. One line for each root:

- bytes that are in no record, which must all be blank or an unfinished last line
- lines that are neither events, bookkeeping, copies nor problems
- responses of Claude Code by message id: missing in the store, or with other figures
- logs of Codex whose last running total is not the sum of what the store has for them
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from session_memory.core.roles import LOGS
from session_memory.derive.raw_source import stored_records
from session_memory.store import Store
from session_memory.store.sources import total
from session_memory.testing.collecting import collected, every_usage

Figures = tuple[int, ...]
DECODER = json.JSONDecoder()


class Accounting(NamedTuple):
    """What a root comes down to. All but the first four must be empty or 0."""

    files: int
    responses: int
    reported: int
    totals: int
    lost_bytes: int
    unaccounted: int
    missing: list[str]
    differing: list[str]
    totals_off: list[str]

    @property
    def is_whole(self) -> bool:
        return not any(self[4:])


def account_for(store: Store, root: Path) -> Accounting:
    """Compare a store with the logs below ``root`` that it was collected from."""
    own, reported = claude_responses(root)
    expected = {**reported, **own}
    found = {
        used.usage_id: (
            used.output_tokens,
            used.input_tokens,
            used.cache_read_tokens,
            used.cache_write_tokens,
        )
        for used in every_usage(store)
        if used.session_uid.startswith("claude:")
    }
    totals = dict(codex_totals(store))
    return Accounting(
        files=len(store.sources.every()),
        responses=len(expected),
        reported=len(reported.keys() - own.keys()),
        totals=len(totals),
        lost_bytes=sum(lost_bytes(store)),
        unaccounted=total(store.sources.account()).unaccounted,
        missing=sorted(expected.keys() - found.keys()),
        differing=sorted(key for key in expected if found.get(key, expected[key]) != expected[key]),
        totals_off=sorted(path for path, is_equal in totals.items() if not is_equal),
    )


# ---------------------------------------------------------------- bytes


def lost_bytes(store: Store) -> Iterator[int]:
    """The bytes of each log between its records that are not blank. What follows the last record
    is an unfinished line."""
    for row in store.sources.every():
        if row.role not in LOGS or row.superseded:
            continue
        data, end = b"".join(store.raw.pieces(row.id)), 0
        for record in stored_records(store, row):
            yield len(data[end : record.offset].strip())
            end = max(end, record.offset + record.length)
        yield len(data[end:].strip()) if b"\n" in data[end:].strip() else 0


# ---------------------------------------------------------------- tokens, from the raw JSON


def values(data: bytes) -> Iterator[dict[str, Any]]:
    """Every JSON object on the lines of a log, several on one line too."""
    for line in data.decode("utf-8", "replace").split("\n"):
        text, place = line.strip("\0 \r\t"), 0
        while place < len(text):
            try:
                value, place = DECODER.raw_decode(text, place)
            except ValueError:
                break
            if isinstance(value, dict):
                yield value
            place += len(text[place:]) - len(text[place:].lstrip())


def claude_responses(root: Path) -> tuple[dict[str, Figures], dict[str, Figures]]:
    """What each response of Claude Code used, by message id: as logged, and as progress lines say.

    Of several lines the one with the largest output counts.
    """
    own: dict[str, Figures] = {}
    reported: dict[str, Figures] = {}
    for path in root.rglob("*.jsonl"):
        for value in values(path.read_bytes()):
            if value.get("type") == "assistant":
                _note(own, value)
            data = value.get("data")
            if value.get("type") == "progress" and isinstance(data, dict):
                _note(reported, data.get("message"))
                for message in data.get("normalizedMessages") or ():
                    _note(reported, message)
    return own, reported


def _note(noted: dict[str, Figures], line: Any) -> None:
    message = line.get("message") if isinstance(line, dict) else None
    used = message.get("usage") if isinstance(message, dict) else None
    if not isinstance(used, dict) or message.get("model") in (None, "", "<synthetic>"):
        return
    if not message.get("id") or line.get("isApiErrorMessage") or line.get("isAbortedMidStream"):
        return
    names = ("output", "input", "cache_read_input", "cache_creation_input")
    figures = tuple(used.get(f"{name}_tokens") or 0 for name in names)
    if figures[0] >= noted.get(message["id"], (-1,))[0]:
        noted[message["id"]] = figures


def codex_totals(store: Store) -> Iterator[tuple[str, bool]]:
    """The logs of Codex with a running total, each with whether its last one is the sum stored."""
    for row in store.sources.every():
        if row.flavor != "codex" or row.role not in LOGS or row.superseded:
            continue
        last = codex_total(b"".join(store.raw.pieces(row.id)))
        sessions = [store.sessions.row_by_id(one) for one in store.sessions.of_source(row.id)]
        # A log with copied history goes on with the total of the session that it copied.
        if last is None or len(sessions) != 1 or sessions[0].has_shared:
            continue
        (own,) = sessions
        yield row.path, last == (own.input_tokens + own.cache_read_tokens, own.output_tokens)


def codex_total(data: bytes) -> Figures | None:
    """The last running total of a log: input with cached tokens, output."""
    last = None
    for value in values(data):
        payload = value.get("payload")
        if isinstance(payload, dict) and payload.get("type") == "token_count":
            used = (payload.get("info") or {}).get("total_token_usage")
            if isinstance(used, dict):
                last = (used.get("input_tokens") or 0, used.get("output_tokens") or 0)
    return last


def main() -> int:
    all_whole = True
    print(f"{'root':<40}" + "".join(f"{name:>13}" for name in Accounting._fields))
    for root in map(Path, sys.argv[1:]):
        with collected(root) as store:
            found = account_for(store, root)
        figures = [one if isinstance(one, int) else len(one) for one in found]
        print(f"{str(root)[-40:]:<40}" + "".join(f"{figure:>13,}" for figure in figures))
        for one in (*found.missing, *found.differing, *found.totals_off):
            print(f"    {one}")
        all_whole &= found.is_whole
    return 0 if all_whole else 1


if __name__ == "__main__":
    sys.exit(main())
