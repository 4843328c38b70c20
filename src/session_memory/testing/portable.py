"""Write portable files (the files of ``session-memory export``) for tests of imports, even wrong
ones."""

import io
import json
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from session_memory.retain.portable_file import FORMAT, FORMAT_VERSION
from session_memory.store.sources import source_uid
from session_memory.store.zstandard import zstd

Described = tuple[dict[str, Any], bytes]
"""The fields of a source, and its bytes."""


def write_portable(target: Path, sources: Iterable[Described], extra: bytes = b"null") -> Path:
    """Write a portable file with exactly these sources. A source without a uid gets one.

    Each source also gets a field ``extra`` with this JSON, which the format does not know.
    """
    listed = list(sources)
    manifest = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "sources": len(listed),
        "bytes": sum(len(body) for _, body in listed),
        "exported_at": 0,
    }
    with zstd.open(target, "wb") as file, tarfile.open(fileobj=file, mode="w|") as archive:
        _add(archive, "manifest.json", msgspec.json.encode(manifest))
        for fields, body in listed:
            uid = fields.get("uid") or _uid(fields)
            # The json module, unlike msgspec, writes invalid texts too.
            described = json.dumps({**fields, "uid": uid}).encode()
            _add(archive, f"sources/{uid}.json", described[:-1] + b', "extra": ' + extra + b"}")
            _add(archive, f"raw/{uid}", body)
    return target


def _uid(fields: dict[str, Any]) -> str:
    names = [str(fields[name]).encode(errors="replace").decode() for name in ("host", "path")]
    return source_uid(names[0], names[1], fields.get("generation") or 0)


def _add(archive: tarfile.TarFile, name: str, body: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(body)
    archive.addfile(entry, io.BytesIO(body))
