"""Compute the version of the analysis code, which is stored beside each digest.

A digest is outdated if other code made it, of an older release or of the same release with older
files. A digest of later code is left alone. Otherwise two installations with one store would make
each other's digests again for ever.
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
_ANALYSIS = (
    *("learn/detect/*.py", "learn/digest/*.py", "learn/signal.py", "redact/*.py"),
    *("search/recall_fields.py", "search/recall_terms.py", "search/stems.py"),
)
# Larger than any number of seconds since 1970: so the release counts more than the files' time.
RELEASE = 10**10


@cache
def analysis_version() -> AnalysisVersion:
    """Return the version of the running analysis code: a hash, and a number that grows with it."""
    sources = [path for pattern in _ANALYSIS for path in sorted(PACKAGE.glob(pattern))]
    # Without source files, as in some bundles, every release counts as other code.
    digest = blake2b((b"" if sources else __version__.encode()), digest_size=8)
    for path in sources:
        source = path.read_bytes()
        digest.update(f"{path.relative_to(PACKAGE)} {len(source)}\n".encode() + source)
    changed = max((int(path.stat().st_mtime) for path in sources), default=0)
    return AnalysisVersion(digest.hexdigest(), release_number(__version__) * RELEASE + changed)


def release_number(version: str) -> int:
    """Return a release as a number that grows with releases: 12003 for ``0.12.3``."""
    parts = [int(part) for part in re.findall(r"\d+", version)[:3]]
    major, minor, patch = (*parts, 0, 0, 0)[:3]
    return major * 1_000_000 + minor * 1_000 + patch
