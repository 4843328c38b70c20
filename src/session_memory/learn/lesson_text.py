"""Write the text of a lesson: what to do, in one or two sentences.

For an error there is a text only if the same thing resolved it in three sessions or more: the same
command, the same change of the call, or an edit of the same file. Otherwise a person has to write
the text.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from session_memory.core.text import below_repo
from session_memory.learn.digest.fingerprints import rule_of
from session_memory.learn.digests import digest_of
from session_memory.learn.patterns import OF_ERRORS, Pattern
from session_memory.learn.quoting import quoted
from session_memory.learn.wish_text import wish_lesson
from session_memory.store.store import Store

SESSIONS = 3
MOST_CHANGED = 4
MOST_READ = 60
LONGEST_COMMAND, LONGEST_ERROR = 160, 120
_KINDS = ("command", "instead", "edit")
_ELSEWHERE = re.compile(r"^\s*cd\s+[^;&|]{1,200}(?:&&|;)\s*")
_SHOWN_PART = re.compile(
    r"\s*(?:2>&1|[12]?>\s*/dev/null|\|\s*(?:tail|head|grep|egrep|rg|cat|tee|less|wc|sed)\b[^|]*)\s*$"
)
# Settings of a call that are no part of the command: ``(sandbox_permissions=require_escalated)``.
_SETTING = re.compile(r"\s*\(((?:\w+=[^,()]*)(?:, \w+=[^,()]*)*)\)\s*$")
_SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_MACHINE = re.compile(r"(?<![\w.])(?:/(?:home|Users|root|private|tmp|var)/|[A-Z]:\\)")


class Way(NamedTuple):
    """How one session resolved the error: the call that failed, and what helped.

    ``kind`` and ``text`` are those of the `Resolution`. ``setting`` is a setting of the call that
    was changed, such as ``sandbox_permissions=require_escalated``. ``is_of_rule``: the error names
    a rule of a linter.
    """

    session_uid: str
    call: str
    kind: str
    text: str
    setting: str = ""
    is_of_rule: bool = False


class LessonText(NamedTuple):
    """What to do about an error. ``quotes`` are ``(session uid, text)`` of the texts it quotes."""

    text: str = ""
    quotes: tuple[tuple[str, str], ...] = ()


def lesson_text(store: Store, pattern: Pattern) -> LessonText:
    """Return what to do about the error or the recurring instruction of a pattern.

    Empty for other types, and for an error if sessions do not agree on what resolved it.
    """
    if pattern.type == "recurring_instruction":
        return LessonText(wish_lesson(pattern))
    if pattern.type not in OF_ERRORS:
        return LessonText()
    repo = pattern.only_repo
    ways = list(_ways(store, pattern, repo))
    error = quoted(below_repo(pattern.detail, repo), LONGEST_ERROR)
    found = [make(error, ways) for make in (_same_change, _same_command, _same_edit)]
    # The text that most sessions agree on is taken. If several have equally many, the first of
    # `found` is taken.
    best = max(filter(None, found), key=lambda one: _sessions(one[1]), default=None)
    if best is None:
        return LessonText()
    text, agreed = best
    sessions = _sessions(agreed)
    uid = agreed[-1].session_uid
    spans = dict.fromkeys((error, *(span[0] for span in _SPAN.finditer(text))))
    return LessonText(
        f"{text} It helped in {sessions} sessions, and is quoted from a log.",
        tuple((uid, span) for span in spans),
    )


def _sessions(ways: Iterable[Way]) -> int:
    return len({way.session_uid for way in ways})


def _ways(store: Store, pattern: Pattern, repo: str | None) -> Iterable[Way]:
    for uid in pattern.session_uids[-MOST_READ:]:
        digest = digest_of(store, uid)
        for error in digest.error_snippets if digest else ():
            how = error.resolution
            if error.fingerprint != pattern.locus or how is None:
                continue
            if how.kind in _KINDS and not how.is_guess:
                text, setting = _without_setting(how.text)
                is_of_rule = bool(rule_of(error.sample))
                call, text = bare(error.call, repo), bare(text, repo)
                yield Way(uid, call, how.kind, text, setting, is_of_rule)


def _without_setting(text: str) -> tuple[str, str]:
    found = _SETTING.search(text)
    return (text[: found.start()], found[1]) if found else (text, "")


def bare(command: str, repo: str | None) -> str:
    """Return a command without its ``cd``, without filters that only shorten its output, and with
    paths relative to the repository."""
    text = _ELSEWHERE.sub("", " ".join(command.split()))
    while (shorter := _SHOWN_PART.sub("", text)) != text:
        text = shorter
    return below_repo(text, repo)


Found = tuple[str, list[Way]] | None


def _same_command(error: str, ways: Sequence[Way]) -> Found:
    by_text: dict[str, list[Way]] = defaultdict(list)
    for way in ways:
        if way.kind == "command" and is_portable(way.text):
            by_text[way.text].append(way)
    agreed = _most_agreed(by_text)
    if not agreed:
        return None
    call, text = _most_common(way.call for way in agreed), agreed[0].text
    has_call = is_portable(call) and call != text
    when = f"When {quoted(call)} fails with {error}" if has_call else f"On {error}"
    return f"{when}, use {quoted(text)}.", agreed


def _same_change(error: str, ways: Sequence[Way]) -> Found:
    by_change: dict[tuple[tuple[str, ...], ...], list[Way]] = defaultdict(list)
    for way in ways:
        change = _change(way)
        size = sum(map(len, change))
        if way.kind == "instead" and way.call and 0 < size <= MOST_CHANGED:
            by_change[change].append(way)
    # The smallest change that enough sessions share says best what mattered.
    sizes = sorted({sum(map(len, change)) for change in by_change})
    agreed: list[Way] = []
    for size in sizes:
        some = {key: ways for key, ways in by_change.items() if sum(map(len, key)) == size}
        agreed = agreed or _most_agreed(some)
    if not agreed:
        return None
    pairs = [(way.call, way.text) for way in agreed]
    call, text = max(set(pairs), key=lambda pair: (pairs.count(pair), -len(pair[1]), pair))
    if not is_portable(text):
        return None
    if call == text:
        return f"Use {quoted(text)} with {quoted(agreed[-1].setting)}: else {error}.", agreed
    instead = f", not {quoted(call)}" if is_portable(call) else ""
    what = f"Use {quoted(text)}{instead}, which fails with {error}."
    if len({text for _, text in pairs}) > 1:
        removed, added, _ = _change(agreed[-1])
        what = f"{what} {_general(removed, added)}".strip()
    return what, agreed


def _same_edit(error: str, ways: Sequence[Way]) -> Found:
    by_file: dict[str, list[Way]] = defaultdict(list)
    for way in ways:
        # A linter names the file itself, so it is no lesson that an edit of that file helped.
        if way.is_of_rule:
            continue
        if way.kind == "edit" and "," not in way.text and is_portable(way.text):
            by_file[way.text].append(way)
    agreed = _most_agreed(by_file)
    if not agreed:
        return None
    call = _most_common(way.call for way in agreed)
    when = f"When {quoted(call)} fails with {error}" if is_portable(call) else f"On {error}"
    return f"{when}, edit {quoted(agreed[0].text)}.", agreed


def _general(removed: tuple[str, ...], added: tuple[str, ...]) -> str:
    """Return a sentence with the words that were removed and added, for other commands."""
    if removed and not added:
        return f"The same for other commands: leave out {quoted(' '.join(removed))}."
    if added and not removed:
        return f"The same for other commands: add {quoted(' '.join(added))}."
    if removed:
        return f"In general: {quoted(' '.join(added))} for {quoted(' '.join(removed))}."
    return ""


def _change(way: Way) -> tuple[tuple[str, ...], ...]:
    """Return the words that were removed from the failed call, those added, and its setting."""
    old, new = way.call.split(), way.text.split()
    removed: list[str] = []
    added: list[str] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            removed += old[a:b]
            added += new[c:d]
    return tuple(removed), tuple(added), (way.setting,) if way.setting else ()


def _most_agreed(groups: Mapping[Any, list[Way]]) -> list[Way]:
    """Return the group of ways with most sessions; empty if fewer than `SESSIONS` are in it."""
    counted = [(len({way.session_uid for way in ways}), str(key)) for key, ways in groups.items()]
    most = max(counted, default=(0, ""))
    agreed = next((ways for key, ways in groups.items() if str(key) == most[1]), [])
    return agreed if most[0] >= SESSIONS else []


def _most_common(texts: Iterable[str]) -> str:
    some = list(texts)
    return max(set(some), key=lambda text: (some.count(text), -len(text), text), default="")


def is_portable(command: str) -> bool:
    """Whether a command or path is short, not empty, and names no home directory, temporary
    directory, ``/var`` or Windows drive (``C:\\``)."""
    return bool(command) and len(command) <= LONGEST_COMMAND and not _MACHINE.search(command)
