"""Write sessions to a file: a portable one for another store, or a transcript for a reader."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from session_memory.core.errors import StoreError
from session_memory.memory.results import ExportResult

if TYPE_CHECKING:
    from session_memory.retain.native_files import DamagedLog
    from session_memory.store import Store
    from session_memory.views.transcript_items import TranscriptItem, TranscriptOptions

PORTABLE = "portable"
TEXT_FORMATS = ("markdown", "html", "jsonl")
FORMATS = (PORTABLE, *TEXT_FORMATS)


def export_portable(
    store: "Store", target: Path, uids: list[str] | None, *, redacted: bool
) -> ExportResult:
    """Write the logs of some or all sessions to a portable file.

    A store that imports the file derives everything else from the logs.
    """
    from session_memory.retain.portable_file import export_store

    damaged: list[DamagedLog] = []
    evicted = store.retention.count_evicted() if uids is None else 0
    with _writing(target):
        done = export_store(store, target, uids, redacted=redacted, damaged=damaged)
    return ExportResult(
        path=target,
        format=PORTABLE,
        bytes=done.bytes,
        sources=done.sources,
        damaged=tuple(damaged),
        evicted=evicted,
    )


def transcript_text(
    store: "Store", uids: list[str], kind: str, options: "TranscriptOptions", *, redacted: bool
) -> Iterator[str]:
    """Yield transcripts of sessions in pieces; if ``redacted``, with all secrets masked."""
    from session_memory.derive.archived import readable_store
    from session_memory.render.html import html
    from session_memory.render.jsonl import jsonl
    from session_memory.render.markdown import markdown
    from session_memory.views.masking import masked
    from session_memory.views.transcript import Transcript
    from session_memory.views.transcript_items import TranscriptOptions

    for uid in uids:
        # Raises if an evicted session cannot be read: an empty transcript would look complete.
        readable_store(store, uid)
    mask = _mask() if redacted else None

    def items(uid: str, how: TranscriptOptions) -> "Iterator[TranscriptItem]":
        return masked(Transcript(store, how).items(uid), mask, only_secrets=True)

    for uid in uids:
        if kind == "html":
            prompts = TranscriptOptions(level="user", inherited=options.inherited, children=False)
            yield from html(items(uid, options), items(uid, prompts))
        elif kind == "markdown":
            yield from markdown(items(uid, options))
        else:
            # JSON lines are for programs, so the agent's bookkeeping is included, too.
            yield from jsonl(items(uid, msgspec.structs.replace(options, everything=True)))


def _mask() -> Callable[[str], str]:
    from session_memory.redact import mask

    return mask


def write_new_file(target: Path, text: Iterator[str]) -> int:
    """Write a file that must not exist yet; it appears whole or not at all. Returns its size."""
    from session_memory.store.private_files import sweep_unfinished, whole_file

    written = 0
    with _writing(target):
        sweep_unfinished(target.parent)
        with whole_file(target) as file:
            for part in text:
                written += file.write(part.encode("utf-8", "backslashreplace"))
    return written


@contextmanager
def _writing(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = "Check that its directory exists, has space and can be written by you."
        raise StoreError(f"cannot write {target}: {error.strerror or error}", hint) from error
