"""Write the data card of an export: what it contains, how it was made, and what was left out."""

from collections.abc import Iterator
from typing import Any

import msgspec

from session_memory import __version__
from session_memory.learn.digest import DIGEST_VERSION
from session_memory.learn.train import gate
from session_memory.redact import VERSION as RULES_VERSION

SPLITS = ("train", "validation", "test")

COLUMNS = {
    "sft": ("prompt", "completion"),
    "chat": ("messages",),
    "dpo": ("prompt", "chosen", "rejected"),
}
_CONTENTS = {
    "sft": "`prompt`, `completion`: a turn of a session in which tests passed or something was"
    " committed; or a skill's input, and an output that a run verified.",
    "chat": "`messages`: a session with evidence of success.",
    "dpo": "`prompt`, `chosen`, `rejected`: a call that failed, and the changed one that succeeded;"
    " or of two attempts of a skill at the same input, the one that was verified.",
}


class TrainingReport(msgspec.Struct, kw_only=True):
    """The result of an export of training data.

    ``rows`` counts rows by kind and split, ``scores`` by kind and score, ``dropped`` dropped
    examples by kind and reason, and ``secrets`` masked secrets by their kind.
    """

    rows: dict[str, dict[str, int]] = {}
    scores: dict[str, dict[str, int]] = {}
    dropped: dict[str, dict[str, int]] = {}
    secrets: dict[str, int] = {}
    sessions: int = 0
    repos: int = 0
    files: list[str] = []
    bytes: int = 0

    @property
    def total(self) -> int:
        return sum(sum(splits.values()) for splits in self.rows.values())

    def to_dict(self) -> dict[str, Any]:
        return {"total": self.total, **msgspec.to_builtins(self)}


def card(report: TrainingReport, ending: str, settings: dict[str, Any]) -> str:
    return "\n".join((*_front(report, ending), *_body(report, settings))) + "\n"


def _front(report: TrainingReport, ending: str) -> Iterator[str]:
    yield "---"
    yield "pretty_name: Sessions of coding agents"
    yield "task_categories:\n- text-generation"
    yield "tags:\n- session-memory\n- trl"
    if report.rows:
        yield "configs:"
    for number, (kind, splits) in enumerate(report.rows.items()):
        yield f"- config_name: {kind}"
        if not number:
            yield "  default: true"
        yield "  data_files:"
        for split in (split for split in SPLITS if split in splits):
            yield f"  - split: {split}\n    path: {kind}/{split}.{ending}"
    yield "---"


def _body(report: TrainingReport, settings: dict[str, Any]) -> Iterator[str]:
    yield "\n# Sessions of coding agents\n"
    yield f"Made by session-memory {__version__} from {report.sessions:,} sessions.\n"
    yield "## What is in it\n"
    for kind in report.rows:
        yield f"- **{kind}**: {_CONTENTS[kind]}"
    yield "\n| | " + " | ".join(SPLITS) + " |\n|---|" + "---:|" * len(SPLITS)
    for kind, splits in report.rows.items():
        yield f"| {kind} | " + " | ".join(f"{splits.get(split, 0):,}" for split in SPLITS) + " |"
    if report.repos == 1:
        yield "\nSplit by session, because there is only one repository."
    else:
        yield f"\nSplit by repository ({report.repos:,} of them): none is in two splits."
    yield "\n## Scores\n"
    yield f"1 to 5, by rules; kept from {gate.KEPT_FROM}.\n"
    for kind, scores in report.scores.items():
        yield f"- {kind}: " + ", ".join(
            f"{count:,} with {score}" for score, count in scores.items()
        )
    yield "\n## What was left out, and why\n"
    for kind, reasons in report.dropped.items():
        yield f"- {kind}: " + "; ".join(f"{count:,} {reason}" for reason, count in reasons.items())
    yield "\n## What was changed\n"
    yield "Working directories, home directories, mail addresses and the project's own name were"
    yield "made general, and authors and owners of repositories renamed. Secrets were masked as"
    yield "`[redacted:kind]`:"
    masked = ", ".join(f"{count:,} {kind}" for kind, count in report.secrets.items())
    yield f"{masked or 'none was found'}."
    yield "Rules find what looks like a secret or a name: read before you share."
    yield "\n## Settings\n"
    for name, value in settings.items():
        yield f"- {name}: {value}"
    yield f"- redaction rules: {RULES_VERSION}\n- digests: {DIGEST_VERSION}"
