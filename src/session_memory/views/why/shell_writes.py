"""Find files that a shell command writes itself: ``cat > f <<'EOF'`` and ``tee f <<'EOF'``."""

import re
from collections.abc import Iterator
from posixpath import isabs, join

from session_memory.core.changes import Change
from session_memory.core.lazy_patterns import lazy_pattern

_BEGIN = lazy_pattern(
    r"""(?P<head>[^\n;&|]*?)<<(?P<dash>-?)\s*(?P<quote>['"\\]?)(?P<end>[A-Za-z_][A-Za-z0-9_]{0,40})['"]?"""
    r"(?P<tail>[^\n]*)\n"
)
_TO = lazy_pattern(
    r"(?<![0-9&>])(?P<append>>>?)\s*(?P<path>'[^'\n]+'|\"[^\"\n]+\"|[^\s'\"<>|;&()]+)"
)
_TEE = lazy_pattern(r"tee\s+(?P<append>-a )?(?P<path>'[^'\n]+'|\"[^\"\n]+\"|[^\s'\"<>|;&()-]\S*)")
_CD = lazy_pattern(r"(?:^|[\n;&])\s*cd\s+(?P<path>'[^'\n]+'|\"[^\"\n]+\"|[^\s'\"<>|;&()]+)")
# Characters that a shell would replace.
_MAGIC = lazy_pattern(r"[$`*?\[\]{}~\\]")
_EXPANDED = lazy_pattern(r"[$`\\]")


def shell_writes(command: str) -> Iterator[Change]:
    """Yield the files that a command writes, if their path and text are in the command itself."""
    at = 0
    while found := _BEGIN.search(command, at):
        # After "<<-" the end may be indented with tabs.
        indent = r"\t*" if found["dash"] else ""
        end = re.compile(rf"^{indent}{found['end']}$", re.MULTILINE).search(command, found.end())
        if end is None:
            return
        text = command[found.end() : end.start()]
        at = end.end()
        # Without quotes the shell puts values into the text.
        if found["dash"] or (not found["quote"] and _EXPANDED.search(text)):
            continue
        yield from _written(command[: found.start()], found["head"], found["tail"], text)


def _written(before: str, head: str, tail: str, text: str) -> Iterator[Change]:
    words = f"{head} {tail}"
    is_cat = head.partition(">")[0].split() == ["cat"]
    target = _TO.search(words) if is_cat else _TEE.match(words.strip())
    path = _plain(target["path"]) if target else None
    if target is None or path is None:
        return
    appends = target["append"] in (">>", "-a ")
    moves = [_plain(one["path"]) for one in _CD.finditer(before)]
    if moves and not isabs(path):
        if (place := moves[-1]) is None or not isabs(place):
            return
        path = join(place, path)
    if appends:
        lines = tuple(f"+{line}" for line in text.removesuffix("\n").split("\n"))
        yield Change(path=path, action="edit", lines=lines)
    else:
        yield Change(path=path, action="write", content=text)


def _plain(text: str) -> str | None:
    """Return a path as the shell sees it; None if the shell would replace parts of it."""
    bare = text[1:-1] if text[:1] in ("'", '"') else text
    if _MAGIC.search(bare) or bare.startswith("/dev/"):
        return None
    return bare
