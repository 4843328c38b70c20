"""How many masks are right, and how many secrets are masked: precision and recall.

Two sets. Lines written by hand, with a secret or with something that looks like one, each put into
a record of the logs that are given. And the logs themselves: `secret_labels.json` says of every
value that a rule masked, or that a reader took for a secret, whether it is one. It has places and
salted hashes, no values. Each value of a file counts once. A mask without a label is printed, so
that somebody reads it and adds a label.
"""

import json
from collections.abc import Iterator
from hashlib import blake2b
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from session_memory.redact import hide, secrets
from session_memory.testing.secret_lines import SecretLine, filled_lines

HERE = Path(__file__).parent
LABELS = HERE / "secret_labels.json"
_SALT = b"session-memory secret labels"
_LONG = 200


class Place(NamedTuple):
    """A value in a log. ``file`` and ``value`` are salted hashes."""

    file: str
    line: int
    start: int
    value: str


class Counts(NamedTuple):
    masked: int
    missed: int
    wrong: int

    def __str__(self) -> str:
        found, kept = self.masked + self.missed, self.masked + self.wrong
        precision, recall = self.masked / max(kept, 1), self.masked / max(found, 1)
        return (
            f"precision {precision:.1%} ({self.wrong} of {kept} masks wrong), "
            f"recall {recall:.1%} ({self.missed} of {found} missed)"
        )


def hashed(value: bytes) -> str:
    return blake2b(value, digest_size=8, key=_SALT).hexdigest()


# ------------------------------------------------------------ lines written by hand


def records(homes: list[Path]) -> Iterator[tuple[dict[str, Any], str]]:
    """Records of the logs with a long text: the record, with a mark in the middle of the text."""
    for home in homes:
        for path in sorted(home.rglob("*.jsonl")):
            for line in path.read_bytes().split(b"\n")[:40:8]:
                try:
                    record = msgspec.json.decode(line)
                except msgspec.DecodeError:
                    continue
                if isinstance(record, dict) and (text := longest_text(record)):
                    yield record, text


def longest_text(value: Any) -> str:
    match value:
        case str():
            return value if len(value) >= _LONG and value.isprintable() is False else ""
        case dict():
            return max(map(longest_text, value.values()), key=len, default="")
        case list():
            return max(map(longest_text, value), key=len, default="")
    return ""


def in_record(line: str, record: dict[str, Any] | None, text: str) -> bytes:
    if record is None:
        return json.dumps({"text": line}).encode()
    middle = text.find("\n", len(text) // 2)
    filled = f"{text[:middle]}\n{line}\n{text[middle:]}"
    before, after = json.dumps(text)[1:-1], json.dumps(filled)[1:-1]
    return json.dumps(record).replace(before, after, 1).encode()


def is_shown(line: SecretLine, hidden: bytes) -> bool:
    shown = json.dumps(json.loads(hidden), ensure_ascii=False)
    return any(json.dumps(secret)[1:-1] in shown for secret in line.secrets)


def count_lines(homes: list[Path], seeds: int = 2) -> Counts:
    """The lines of both files, each in a record of the logs."""
    surroundings = cycle(list(islice(records(homes), 400)) or [(None, "")])
    masked = missed = wrong = 0
    for seed in range(seeds):
        for line in filled_lines(HERE / "secret_lines.txt", seed):
            leaks = is_shown(line, hide(in_record(line.text, *next(surroundings))))
            missed, masked = missed + leaks, masked + (not leaks)
        for line in filled_lines(HERE / "harmless_lines.txt", seed):
            record, text = next(surroundings)
            others = len(list(secrets(in_record("", record, text))))
            wrong += len(list(secrets(in_record(line.text, record, text)))) > others
    return Counts(masked, missed, wrong)


# ------------------------------------------------------------ logs


def masked_values(home: Path) -> Iterator[tuple[Place, str, bytes]]:
    """What is masked in the files of a directory: the place, the kind, the text around it."""
    for path in sorted(path for path in home.rglob("*") if path.is_file()):
        file = hashed(path.relative_to(home).as_posix().encode())
        for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
            for one in secrets(line):
                place = Place(file, number, one.start, hashed(line[one.start : one.end]))
                yield place, one.kind, hide(line)[max(one.start - 60, 0) : one.end + 20]


def count_logs(homes: list[Path]) -> tuple[Counts, list[str]]:
    """Compare what is masked with the labels. Places without a label are returned as texts."""
    labels = {Place(*label["place"]): label["secret"] for label in json.loads(LABELS.read_text())}
    files = {
        hashed(path.relative_to(home).as_posix().encode())
        for home in homes
        for path in home.rglob("*")
    }
    found, unknown = set(), []
    for home in homes:
        for place, kind, around in masked_values(home):
            found.add(place)
            if place not in labels:
                unknown.append(f"{kind}: {list(place)} {around!r}")
    true = {place for place, secret in labels.items() if secret and place.file in files}
    missed = values_of(true - found)
    wrong = values_of({place for place in found if labels.get(place) is False})
    return Counts(len(values_of(true) - missed), len(missed), len(wrong)), unknown


def values_of(places: set[Place]) -> set[tuple[str, str]]:
    return {(place.file, place.value) for place in places}


def report(homes: list[Path]) -> None:
    where = "in records of the logs" if homes else "alone"
    print(f"lines written by hand, {where}: {count_lines(homes)}")
    if homes:
        counts, unknown = count_logs(homes)
        print(f"the logs themselves: {counts}")
        for text in unknown:
            print(f"  no label: {text}")
