"""The version of the analysis code, stored beside each digest.

A digest is outdated if other code of this release or of an older one made it. A digest from a newer
release is left alone: otherwise two machines with different releases and one store would redo each
other's digests for ever.
"""

import re
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from importlib.resources import files

from session_memory import __version__
from session_memory.redact import VERSION as RULES_VERSION
from session_memory.store.digests import AnalysisVersion

_PACKAGES = ("session_memory.learn.digest", "session_memory.learn.detect")


@cache
def analysis_version() -> AnalysisVersion:
    """The version of the analysis code that runs now."""
    digest = blake2b(f"{RULES_VERSION}\n".encode(), digest_size=8)
    for name, source in _sources():
        digest.update(f"{name} {len(source)}\n".encode() + source)
    return AnalysisVersion(digest.hexdigest(), release_number(__version__))


def _sources() -> Iterator[tuple[str, bytes]]:
    """The source code of everything that a digest and its stored signals depend on."""
    for package in _PACKAGES:
        modules = sorted(files(package).iterdir(), key=lambda module: module.name)
        for module in modules:
            if module.name.endswith(".py"):
                yield f"{package}.{module.name}", module.read_bytes()


def release_number(version: str) -> int:
    """``0.12.3`` as a number that grows with releases: 12003."""
    parts = [int(part) for part in re.findall(r"\d+", version)[:3]]
    major, minor, patch = (*parts, 0, 0, 0)[:3]
    return major * 1_000_000 + minor * 1_000 + patch
