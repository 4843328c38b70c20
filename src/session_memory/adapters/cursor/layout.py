"""Find the transcripts of Cursor's agent.

.cursor/projects/<project>/agent-transcripts/<session>/<session>.jsonl            a session
.cursor/projects/<project>/agent-transcripts/<session>/subagents/<agent>.jsonl    a subagent
.cursor/projects/<project>/agent-transcripts/<session>.jsonl or .txt              earlier versions
"""

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.gathered import files_below
from session_memory.adapters.log_files import logs, own_directory

_PREFIX = ".cursor/projects"
_TRANSCRIPTS = "agent-transcripts"
TEXT = ".txt"
_ENDINGS = (".jsonl", TEXT)
_JSON = re.compile(rb'\s*\{"role": ?"(?:user|assistant)", ?"message": ?\{"content": ?\[')
_PLAIN = re.compile(rb"\s*user:\r?\n(?:.*\r?\n){0,200}?\s*<user_query>")


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    return [home / ".cursor"]


def directory_fits(name: str, pattern: str) -> bool:
    """Whether a directory of logs belongs to a repository whose name fits ``pattern``.

    Cursor names the directory after the working directory, with a dash for every slash.
    """
    return fnmatchcase(name, f"*-{pattern}") or fnmatchcase(name, pattern)


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield the transcripts below ``root``.

    ``root`` is a home directory, a directory of Cursor, or any other directory with
    transcripts.
    """
    base = own_directory(root, ".cursor", "projects", f"*/{_TRANSCRIPTS}/*/*.jsonl", recognizes)
    if isinstance(base, Path):
        yield from _own(base)
    else:
        yield from logs(root, base, _ENDINGS, recognizes, _loose_ref)


def _own(base: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield the transcripts in Cursor's directory of projects.

    Only the directories ``agent-transcripts`` are searched, because there are many other files.
    """
    for transcripts in sorted(base.glob(f"*/{_TRANSCRIPTS}")):
        found = [(Path(name), problem) for name, problem in files_below(str(transcripts))]
        whole = {path.stem for path, _ in found if path.suffix == ".jsonl"}
        for path, problem in found:
            # A session may have both forms; then the text says the same as the JSON lines.
            if not path.name.endswith(_ENDINGS) or (path.suffix == TEXT and path.stem in whole):
                continue
            if problem:
                yield Unlisted(path, problem)
            else:
                yield _ref(path, path.relative_to(base).as_posix())


def _ref(path: Path, below: str) -> SourceRef:
    """Return the source for a transcript. For the transcript of a subagent, the field ``agent``
    holds the session that started the subagent."""
    parts = below.split("/")
    parent = parts[-3] if len(parts) > 2 and parts[-2] == "subagents" else ""
    return SourceRef(path, home_path=f"{_PREFIX}/{below}", session=path.stem, agent=parent)


def _loose_ref(path: Path, below: str) -> SourceRef:
    return _ref(path, f"gathered/{_TRANSCRIPTS}/{below}")


def recognizes(head: bytes) -> bool:
    """Whether ``head`` begins like a transcript of Cursor."""
    return _JSON.match(head) is not None or _PLAIN.match(head) is not None
