"""Find wishes that a person repeats in many sessions, by grouping wishes with the same words.

A wish is a clause of a prompt that asks for something. Wishes form a group if they share a pair of
words ("update changelog"), a word or a pair with "not" or "should", or one word that begins a
prompt ("commit"). Words of every task ("add", "file") and names of the session's files do not form
a group. A group needs three sessions, or two if its words are telling. They must be on two days,
because what is asked twice on one day is one task. If most sessions of a group begin with the wish,
it is their task, too, and no group, unless it says how to work ("should", "not").
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from session_memory.learn.digest.wishes import NOT, SHOULD, Wish, is_katakana, wish_words

MOST_COMPARED = 5_000
SESSIONS, SESSIONS_IF_TELLING = 3, 2
LEAST_TOLD, LEAST_TOLD_CJK = 0.4, 0.2
_SHORT, _CHOICE = 3, 2
_NEW_PART = 0.5
# If more than this share of a group's sessions begin with the wish, it is their task and no wish.
_MOST_TASKS = 0.6
_MARKS = frozenset((NOT, SHOULD))
# Words that people say in every session to move on ("continue"), or that fit every task ("fix").
_FLOW_WORDS = """
    continue go proceed ahead retry yes ok okay thanks thank resume implement plan next start stop
    try wait done sure fix issue problem error work bug help hi hello good great nice perfect weiter
    ja danke sigue continúa vale gracias sí merci oui vas-y продолжай дальше спасибо да 问题 解决
    继续 修复 实现 方案 制定 个问 决这 開始 続行
"""
_FLOW = frozenset(_FLOW_WORDS.split())
_COMMON_WORDS = """
    add make use show update create check change chang remove run get set need want look see think
    file code new only same way thing time first last few more most other such like out over about
    after before between both each every find give take put keep call tell ask mean know read write
    open close move turn build task question answer result value name type list item page button
    text line part place case point example current existing different possible right left better
    best small large big full well able via per etc within two three user app project repo
    repository function method class module feature request response data display select view load
    detail mention recent
"""
_COMMON = frozenset(_COMMON_WORDS.split())
# Chinese characters that only join words. Two neighbouring characters with one of them are no word.
_JOINING = frozenset("的了就先那这在是把和与也都我你他它们一个不有要会能到去来吗呢吧被对从")


# Wordings such as "get rid of it" are unclear alone: the thing is named in another sentence.
_POINTS_AT = re.compile(r"\b(?:one|it|this|that|them|these|those|here|there)$", re.IGNORECASE)


class SessionWish(NamedTuple):
    session_uid: str
    day: int
    wish: Wish


class WishGroup(NamedTuple):
    """Wishes that share ``words``, oldest first. ``text`` is the most frequent wording."""

    words: tuple[str, ...]
    text: str
    wishes: tuple[SessionWish, ...]


def recurring_wishes(asked: Sequence[SessionWish]) -> list[WishGroup]:
    """Group the wishes of one repository. Groups with most sessions come first."""
    asked = asked[-MOST_COMPARED:]
    spelled = _spellings(asked)
    found: dict[tuple[str, ...], list[int]] = defaultdict(list)
    telling: Counter[tuple[str, ...]] = Counter()
    for place, (_, _, wish) in enumerate(asked):
        words = tuple(dict.fromkeys(spelled.get(word, word) for word in wish.words))
        for key, is_telling in _keys(words, wish):
            found[key].append(place)
            telling[key] += is_telling
    groups = []
    ranked = sorted(found, key=lambda key: (-_weight(key, found[key], asked), key))
    used: set[int] = set()
    pairs: set[frozenset[str]] = set()
    for key in ranked:
        places = found[key]
        left = [place for place in places if place not in used]
        is_new = len(left) >= _NEW_PART * len(places)
        if is_new and _recurs(left, asked, tells=2 * telling[key] >= len(places)):
            used.update(places)
            sessions = frozenset(asked[place].session_uid for place in left)
            if sessions in pairs:
                # Two sessions that share several wishes which no other session has are one task.
                continue
            if len(sessions) == SESSIONS_IF_TELLING:
                pairs.add(sessions)
            groups.append(_group(key, [asked[place] for place in left]))
    return groups


def _recurs(places: list[int], asked: Sequence[SessionWish], *, tells: bool) -> bool:
    sessions = {asked[place].session_uid for place in places}
    days = {asked[place].day for place in places}
    tasks = {asked[place].session_uid for place in places if _is_task(asked[place])}
    if len(tasks) > _MOST_TASKS * len(sessions):
        return False
    return len(days) > 1 and len(sessions) >= (SESSIONS_IF_TELLING if tells else SESSIONS)


def _is_task(one: SessionWish) -> bool:
    return one.wish.is_first and one.wish.opens and _MARKS.isdisjoint(one.wish.words)


def _keys(words: tuple[str, ...], wish: Wish) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield the groups of words by which a wish may be grouped, and whether each is telling.

    A telling group needs two sessions, any other three.
    """
    marks = [word for word in words if word in _MARKS]
    plain = [word for word in words if word not in _MARKS]
    is_short = len(plain) <= _SHORT
    distinctive = {
        word
        for word in plain
        if word not in _COMMON and word not in _FLOW and (is_short or word not in wish.topics)
    }
    head, neighbours = plain[0], {tuple(sorted(pair)) for pair in pairwise(plain)}
    is_cjk = any(not word.isascii() for word in plain)
    for pair in combinations(sorted(plain), 2):
        if any(not _JOINING.isdisjoint(word) for word in pair):
            continue
        count = len(distinctive.intersection(pair))
        # Words in katakana name things, as the names of files do in other languages.
        is_about_things = not marks and any(map(is_katakana, pair))
        is_whole = is_short and len(plain) == len(pair) and not _FLOW.issuperset(pair)
        if (head in pair or is_cjk) and (count or is_whole):
            is_telling = count == len(pair) or bool(is_whole and count and wish.opens)
            yield pair, is_telling and not is_about_things
        elif count == len(pair) and pair in neighbours:
            # Two words that do not follow the verb may be a name that two tasks share.
            is_object = head in _COMMON and set(pair) == set(plain[1:3])
            yield pair, (bool(marks) or is_object) and not _is_name(pair, wish.text)
        if count:
            yield from (((mark, *pair), count == len(pair)) for mark in marks)
    yield from (((mark, word), False) for mark in marks for word in distinctive if len(word) > 4)
    # Two letters are the name of a choice in a menu.
    is_choice = len(head) <= _CHOICE and head.isascii()
    if len(plain) == 1 and wish.opens and plain[0] not in _FLOW and not is_choice:
        # If the clause is only this word, two sessions that begin with it are no accident, unless
        # the word is very short.
        yield (head,), len(head) > _SHORT and " " not in wish.text


def _is_name(pair: tuple[str, ...], text: str) -> bool:
    """Whether two words are a name such as "GitHub Copilot", capitalized inside of a text."""
    words = [word for word in text.split()[1:] if word.lower().startswith(pair)]
    return bool(words) and all(word[0].isupper() for word in words)


def _weight(key: tuple[str, ...], places: list[int], asked: Sequence[SessionWish]) -> float:
    sessions = len({asked[place].session_uid for place in places})
    return sessions * (1 + 0.25 * sum(word not in _COMMON for word in key))


def _group(key: tuple[str, ...], wishes: list[SessionWish]) -> WishGroup:
    counts = Counter(one.wish.text.casefold() for one in wishes)

    def usual_and_clear(one: SessionWish) -> tuple[int, bool, int]:
        text = one.wish.text
        return counts[text.casefold()], _POINTS_AT.search(text) is None, -len(text)

    return WishGroup(key, max(wishes, key=usual_and_clear).wish.text, tuple(wishes))


def is_told_by(text: str, words: Iterable[str]) -> bool:
    """Whether a wording says little more than ``words``, which all wordings of its group share.

    A wording that says much more is about one task, such as "get rid of the old tree view" in the
    group "get rid".
    """
    own, shared = set(wish_words(text)), set(words)
    if any(not word.isascii() for word in own):
        # The text may be Chinese, where every two neighbouring characters count as a word. So there
        # are about as many words as characters.
        return len(own & shared) > LEAST_TOLD_CJK * len(own)
    return len(own & shared) > LEAST_TOLD * len(own)


def _spellings(asked: Sequence[SessionWish]) -> dict[str, str]:
    """Map rare words to the frequent word that they misspell by one letter."""
    counts = Counter(word for one in asked for word in set(one.wish.words) if word.isascii())
    usual = [word for word, count in counts.items() if count >= 5 and len(word) >= 5]
    rare = [word for word, count in counts.items() if count <= 2 and len(word) >= 4]
    return {word: right for word in rare for right in usual if _is_misspelled(word, right)}


def _is_misspelled(word: str, right: str) -> bool:
    if word == right or abs(len(word) - len(right)) > 1 or word[:2] != right[:2]:
        return False
    place = next((i for i, (a, b) in enumerate(zip(word, right, strict=False)) if a != b), None)
    if place is None:
        return True
    rest, other = word[place:], right[place:]
    return rest[1:] == other[1:] or rest == other[1:] or rest[1:] == other
