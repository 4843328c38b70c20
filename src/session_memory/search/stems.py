"""Stem English words, so that ``deployed``, ``deploying`` and ``deployment`` are one term.

The rules are nearly those of Porter's algorithm of 1980. Words of other languages are stemmed by
the same rules, which does little harm, because texts and questions are treated alike.
"""

from functools import cache, lru_cache

from session_memory.core.lazy_patterns import lazy_pattern

SHORTEST = 4
_VOWEL = lazy_pattern("[aeiouy]")
# A y is a consonant after a vowel, as in "deploy".
_SYLLABLE = lazy_pattern("(?:[aeiou]|(?<![aeiou])y)+(?:[^aeiouy]|(?<=[aeiou])y)+")
_SHORT = lazy_pattern("[^aeiouy][aeiouy][^aeiouwxy]$")
_PLURALS = {"sses": "ss", "ies": "i", "ss": "ss", "s": ""}
_COMPOUND_ENDINGS = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "abli": "able",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
}
_SIMPLE_ENDINGS = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}
# British spelling, and verbs whose forms have no common stem. A form that is mostly another word
# ("left") is not here.
_BRITISH_VERB = lazy_pattern("is(e|ed|es|er|ers|ing|ation|ations)$")
_BRITISH_NOUN = lazy_pattern("(o)u(r)(s|ed|ing|al)?$|(og)ue(s)?$")
_IRREGULAR_VERBS = """
    analyze analyse analysed analysing analysis analyses / begin began begun / break broke
    broken / bring brought / build built / buy bought / catch caught / choose chose chosen /
    draw drew drawn / drive drove driven / fall fell fallen / find found / forbid forbade
    forbidden / forget forgot forgotten / freeze froze frozen / give gave given / grow grew
    grown / hide hid hidden / hold held / keep kept / know knew known / lose lost / mean meant /
    override overrode overridden / overwrite overwrote overwritten / rebuild rebuilt / rewrite
    rewrote rewritten / ride rode ridden / run ran / seek sought / send sent / shake shook
    shaken / show shown / shrink shrank shrunk / sink sank sunk / speak spoke spoken / spend
    spent / steal stole stolen / stick stuck / take took taken / teach taught / tell told /
    think thought / throw threw thrown / wake woke woken / withdraw withdrew withdrawn / write
    wrote written
"""
_LAST_ENDINGS = (
    *("ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti"),
    *("ous", "ive", "ize", "al", "er", "or", "ic", "ou"),
)


@lru_cache(maxsize=1 << 15)
def stem(word: str) -> str:
    """Return the stem of a lower-case word. A word with other letters than ASCII stays as it is."""
    if len(word) < SHORTEST or not word.isascii() or not word.isalpha():
        return word
    word = _irregular().get(word, word)
    if (british := _BRITISH_VERB.search(word)) and _measure(word[: british.start()]) > 1:
        word = f"{word[: british.start()]}iz{british[1]}"
    elif (british := _BRITISH_NOUN.search(word)) and _measure(word[: british.start()]):
        word = word[: british.start()] + "".join(filter(None, british.groups()))
    word = _replaced(word, _PLURALS, least=-1)
    word = _without_verb_ending(word)
    # A y after a vowel stays, so that "deploy" and "deployment" have one stem.
    if word.endswith("y") and word[-2:-1] not in "aeiou" and _has_vowel(word[:-1]):
        word = f"{word[:-1]}i"
    word = _replaced(word, _COMPOUND_ENDINGS, least=0)
    word = _replaced(word, _SIMPLE_ENDINGS, least=0)
    word = _without_last_ending(word)
    return _without_final_letter(word)


def is_irregular(word: str) -> bool:
    """Whether a word is an irregular verb form: its stem may begin with other letters."""
    return word in _irregular()


@cache
def forms_of(stemmed: str) -> tuple[str, ...]:
    """The irregular forms of the verb with this stem: ``broke`` and ``broken`` for ``break``."""
    return tuple(form for form in _irregular() if stem(form) == stemmed)


@cache
def _irregular() -> dict[str, str]:
    """Map each irregular form to its verb: ``brought`` to ``bring``."""
    groups = [text.split() for text in _IRREGULAR_VERBS.split("/")]
    return {form: group[0] for group in groups for form in group[1:]}


def _without_verb_ending(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for ending in ("ed", "ing"):
        start = word.removesuffix(ending)
        if start != word and _has_vowel(start):
            return _completed(start)
    return word


def _completed(word: str) -> str:
    """Correct a verb without its ending: ``siz`` becomes ``size`` and ``hopp`` becomes ``hop``."""
    if word.endswith(("at", "bl", "iz")):
        return f"{word}e"
    is_double = word[-2:-1] == word[-1] and word[-1] not in "aeiouy"
    if is_double and word[-1] not in "lsz":
        return word[:-1]
    return f"{word}e" if _measure(word) == 1 and _ends_short(word) else word


def _without_last_ending(word: str) -> str:
    for ending in _LAST_ENDINGS if word.endswith(_LAST_ENDINGS) else ():
        if word.endswith(ending):
            start = word[: -len(ending)]
            if _measure(start) > 1 and (ending not in ("ion", "or") or start[-1] in "st"):
                return start
            break
    return word


def _without_final_letter(word: str) -> str:
    if word.endswith("e"):
        start = word[:-1]
        length = _measure(start)
        if length > 1 or (length == 1 and not _ends_short(start)):
            word = start
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _replaced(word: str, endings: dict[str, str], *, least: int) -> str:
    """Return the word with the first matching ending replaced, if more than ``least`` syllables
    are before it."""
    if not word.endswith(tuple(endings)):
        return word
    ending = next(one for one in endings if word.endswith(one))
    start = word[: -len(ending)]
    return start + endings[ending] if _measure(start) > least else word


def _measure(word: str) -> int:
    """Count how often a consonant follows a vowel, which is about the number of syllables."""
    return len(_SYLLABLE.findall(word))


def _has_vowel(word: str) -> bool:
    return _VOWEL.search(word) is not None


def _ends_short(word: str) -> bool:
    return _SHORT.search(word) is not None
