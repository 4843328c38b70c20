"""The version of the analysis code, stored beside each digest.

A digest is outdated if other code of this release or of an older one made it. A digest from a newer
release is left alone: otherwise two machines with different releases and one store would redo each
other's digests for ever.
"""

import re
from functools import cache
from hashlib import blake2b
from pathlib import Path

from session_memory import __version__
from session_memory.store.digests import AnalysisVersion

PACKAGE = Path(__file__).parent.parent
# The code that decides what a digest and its stored signals contain. It is read, not imported,
# because this runs in commands that should start quickly.
_ANALYSIS = ("learn/detect/*.py", "learn/digest/*.py", "learn/signal.py", "redact/rules.py")


@cache
def analysis_version() -> AnalysisVersion:
    """The version of the analysis code that runs now."""
    sources = [path for pattern in _ANALYSIS for path in sorted(PACKAGE.glob(pattern))]
    # Without source files, as in some bundles, every release counts as other code.
    digest = blake2b((b"" if sources else __version__.encode()), digest_size=8)
    for path in sources:
        source = path.read_bytes()
        digest.update(f"{path.relative_to(PACKAGE)} {len(source)}\n".encode() + source)
    return AnalysisVersion(digest.hexdigest(), release_number(__version__))


def release_number(version: str) -> int:
    """``0.12.3`` as a number that grows with releases: 12003."""
    parts = [int(part) for part in re.findall(r"\d+", version)[:3]]
    major, minor, patch = (*parts, 0, 0, 0)[:3]
    return major * 1_000_000 + minor * 1_000 + patch
