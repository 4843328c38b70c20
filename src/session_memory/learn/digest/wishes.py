"""Split a person's prompts into wishes: clauses that ask for something.

"commit this and update the changelog" has two wishes. Pasted logs, code, questions and stories ("I
ran it and …") have none. `recurring_wishes` compares the wishes of many sessions. Words that name
files of the session are noted, because they belong to its task and not to a general wish.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

import msgspec

from session_memory.learn.digest.verdict_words import is_praise

MOST_WISHES = 60
_LONGEST_TEXT, _LONGEST_PASTED = 4_000, 1_500
_LONGEST_SENTENCE, _LONGEST_CLAUSE, _SHORTEST_CLAUSE = 400, 160, 2
_MOST_WORDS, _LONGEST_WORD = 14, 40
_MOST_STEPS = 3
NOT, SHOULD = "<not>", "<should>"

_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")
_CLAUSE = re.compile(
    r"[;；、，,。]|\s+-\s+|\s&&\s|\b(?:and|then|but|und|dann|aber|y|luego|pero|et|puis|mais|и|потом)\b",
    re.IGNORECASE,
)
# "ok, now commit" asks for a commit.
_LEAD = re.compile(
    r"\A(?:(?:ok(?:ay)?|yes|yeah|yep|yup|sure|oh|hmm+|great|nice|perfect|cool|good|thanks|now|so|well)"
    r"\b[\s,.!:-]*){1,4}",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"""[?？]\s*\Z | [吗嘛呢か]\s*[。?？]?\Z | 什么 | 怎样 | 如何 | 为什么 | 是不是 | 有没有
    | (?:何|なに|どこ|いつ|誰|どれ|どう)(?:ですか|だっけ|なの)?[。?？]?\s*\Z
    | ^¿ | ^(?:(?:also|and|so|but|then|or|btw)[\ ,]+)?
      (?:what|why|how|when|where|who|which|is|are|can|could|does|did|will|would|should|any
        |do\ (?:i|we|you|they|the|these|those|our|my|your|any)
        |was|were|warum|wie|wieso|kann|ist|qué|cómo|por\ qué|cuándo|pourquoi|comment|est-ce|quand
        |почему|как|что|когда|зачем)\b""",
    re.IGNORECASE | re.VERBOSE,
)
# "Can you push?" is a polite order. "Can you see why?" wants an answer.
_POLITE = re.compile(
    r"""(?:(?:can|could|would|will)\ (?:you|we)|kannst\ du|könntest\ du|¿?(?:puedes|podrías)|peux-tu
      |tu\ peux|pouvez-vous|можешь|можете)\s+(?:please\s+|bitte\s+|also\s+|just\s+)*
    (?!\b(?:see|tell|explain|check|find|look|show|think|confirm|describe|give|do|be|have|me|we|it)\b)
    (?P<order>[^?？]+)[?？]?\s*\Z""",
    re.IGNORECASE | re.VERBOSE,
)
# Sentences such as "it fails" and "the logos are not shown" say how things are. "They should be
# shown" is a wish.
_STORY = re.compile(
    r"""^(?!.*\b(?:should|must|need|ensure|make\ sure|soll|muss)\b)
    (?: (?:i|i['’]\w+|we|it|there|this|that|they|the|he|she|ich|wir|es
        |c['’]est|tu\ es|currently|right\ now|derzeit|aktuell|actualmente|actuellement|сейчас)\b
      | (?:\S+\ ){1,8}(?:is|are|was|were|isn['’]?t|aren['’]?t)\b )""",
    re.IGNORECASE | re.VERBOSE,
)
# The first line of a diff or of a list of files: what follows was pasted, or added by a program.
_DIFF_START = re.compile(
    r"^(?:diff --git |@@ -\d|--- [ab/]\S|\+\+\+ [ab/]\S|={3,} ?(?:DIFF|FILE|BEGIN)\b|Index: \S)",
    re.MULTILINE,
)
# A line of a program: a keyword with a sign that prose does not have, an assignment, a call, a key
# of JSON. A path alone is no wish, either.
_CODE_LINE = re.compile(
    r"""\s*(?: (?:import|export|const|let|var|function|class|def|return|from|package|func|public
          |private|using|async|await|interface|type|if|for|while|else|case)\b.*[=({;"'`]
      | [\w.$\[\]]+\s*(?:=|:=|\+=)\s*\S.*
      | .*(?:=>|===?|!=|&&|\|\||\);?\s*\Z|;\s*\Z|=\s*\[)
      | ["']?[\w-]+["']\s*:\s
      | [+]\s
      | \S*[/\\]\S*\.\w+\s*\Z
      | \S*[/\\]\S*[/\\]\S*\s*\Z )""",
    re.VERBOSE,
)
# A clause that is only a path, a slash command, the piece of a question or the choice of an option.
_NO_WISH = re.compile(
    r"\S*/\S*\Z|/[a-z][\w-]*:\S|(?:also )?(?:any|whether|should)\b|opti?[oó]n \w\Z", re.IGNORECASE
)
# Headings, lines of logs, tables, checklists and stack traces, and text with markup or long
# addresses.
_PASTED_START = re.compile(
    r"""\s*(?: at\ | \#{1,6}\s | \d{4}-\d\d | \[ | [-*]\s*\[[\ xX]\]
      | (?:INFO|ERROR|WARN|DEBUG)\b | npm\ (?:notice|warn|error)\b | File\ " | \$\ | > | \| )""",
    re.VERBOSE,
)
_MARKUP = re.compile("[{}<>]")
_ADDRESS = re.compile(r"https?://\S{30,}")
_PLACE = re.compile(r"\w\.\w+:\d")
_MARKS = (
    (
        NOT,
        re.compile(
            r"\b(?:do not|don['’]?t|never|without|must not|should not|shouldn['’]?t|avoid|nicht|nie"
            r"|kein\w*|ohne|no need to|stop(?= \w+ing)|nunca|sin|evita|jamais|sans|évite"
            r"|n['’](?=\w+ pas)|ne(?= \w+ pas)|не|никогда|без)\b"
            r"|不要|不用|不能|别|しないで|ないで|せずに|禁止|やめて",
            re.IGNORECASE,
        ),
    ),
    (
        SHOULD,
        re.compile(
            r"\b(?:should|must|always|make sure|ensure|need to|have to|remember to|soll\w*|muss"
            r"|immer|siempre|debes?|asegúrate|toujours|doit|il faut|assure-toi|всегда|нужно"
            r"|должн\w+|обязательно)\b|必须|一定|总是|应该|必ず|べき|常に",
            re.IGNORECASE,
        ),
    ),
)
_WORD = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}][^\s,;:(){{}}\[\]<>\"'’`*{_CJK}]*")
_IS_CJK = re.compile(f"[{_CJK}]")
# In Japanese these letters write particles and endings; the words are in the other ones.
_HIRAGANA = re.compile("[\u3040-\u309f]+")
# A word of Japanese in these letters is one word, however long it is.
_KATAKANA = re.compile("([\u30a0-\u30ff]+)")
_ENDING = re.compile(r"\.(?:\w{1,5})\Z")
_PATH_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_A-Za-z]+")
_FILLER_WORDS = """
    a an the and are as at be been but by can could do does did for from had has have i if in into
    is it its just me my now of on one or our please so some that their them then there these they
    this those to up was we were what when which who will with would you your also too all any let
    lets us am not no maybe again still here everything s d m t ll re ve ok okay yeah yep yup yes oh
    hmm hey well sure alles der die das ein eine und ist
    bitte noch mal den dem des im in zu mit auf für von auch es ich du wir mir el la los las un una
    de del al que en por
    para con lo se favor le les du et à au aux pour avec ce cette il je tu te plaît pas и в на с по
    для это пожалуйста мне все
    这个 一下 一个 那个 的这 了这 帮我 可以 看看 现在 目前 然后 我们 你的 我的 需要 进行
"""
_FILLERS = frozenset(_FILLER_WORDS.split())


class Wish(msgspec.Struct, frozen=True, array_like=True):
    """A clause of a prompt that asks for something.

    ``words`` are the stems of its words in order, after the marks ``NOT`` and ``SHOULD`` if the
    clause has such a word. ``topics`` are those of the stems that name files of the session.
    ``opens``: the prompt begins with this clause. ``is_first``: the prompt is the session's first
    request.
    """

    event_uid: str
    text: str
    words: tuple[str, ...]
    topics: tuple[str, ...] = ()
    opens: bool = False
    is_first: bool = False


def wishes(
    prompts: Iterable[tuple[str, str]], paths: Iterable[str], first: str = ""
) -> Iterator[Wish]:
    """Yield the wishes in prompts, which are ``(event_uid, text)`` pairs.

    ``paths`` are the files of the session, ``first`` is the uid of its first request.
    """
    topics = {word for path in paths for word in _path_words(path)}
    for uid, text in prompts:
        if (pasted := _DIFF_START.search(text)) is not None:
            text = text[: pasted.start()]
        text = _LEAD.sub("", _CODE.sub(" ", text[:_LONGEST_TEXT]).strip())
        for place, clause in enumerate(_clauses(text)):
            words = wish_words(clause)
            if words and len(words) <= _MOST_WORDS and not is_praise(clause):
                about = tuple(word for word in dict.fromkeys(words) if word in topics)
                opens = not place and _opens(text, clause)
                yield Wish(uid, clause, words, about, opens, uid == first)


def _opens(text: str, clause: str) -> bool:
    polite = _POLITE.match(text)
    return text.startswith(clause, polite.start("order") if polite else 0)


@lru_cache(maxsize=1 << 12)
def _path_words(path: str) -> frozenset[str]:
    """Return the stems of the words in a path, and the stem of the file's name without ending."""
    name = stem(_ENDING.sub("", path.rpartition("/")[2].lower()))
    return frozenset((name, *(stem(word.lower()) for word in _PATH_WORD.findall(path))))


def _clauses(text: str) -> Iterator[str]:
    if len(text) == _LONGEST_TEXT:
        text = text[:_LONGEST_PASTED]
    for sentence in map(str.strip, _SENTENCE.split(text)):
        if len(sentence) > _LONGEST_SENTENCE or _is_pasted(sentence):
            continue
        if polite := _POLITE.match(sentence):
            sentence = polite["order"]
        elif _QUESTION.search(sentence) or _STORY.match(sentence):
            continue
        clauses = _CLAUSE.split(sentence)
        is_short = len(clauses) <= _MOST_STEPS and not _IS_CJK.search(sentence)
        if is_short and all(" " not in one.strip() for one in clauses):
            # "commit and push" is one wish.
            clauses = [sentence]
        for place, clause in enumerate(clauses):
            clause = _unquoted(clause.strip(" \t-*#.!:"))
            is_name = place and all(word[0].isupper() for word in clause.split())
            # An unclosed bracket: a comma inside of the brackets has cut the clause.
            is_piece = clause.count("(") != clause.count(")")
            is_whole = not (is_name or is_piece or _NO_WISH.match(clause))
            if _SHORTEST_CLAUSE <= len(clause) <= _LONGEST_CLAUSE and is_whole:
                yield clause


def _unquoted(clause: str) -> str:
    """Remove quotes around a clause, and a single quote whose partner was cut off."""
    for quotes in ('"', "`", "“”"):
        count = sum(clause.count(quote) for quote in quotes)
        if count % 2 or (clause[:1] in quotes and clause[-1:] in quotes):
            clause = clause.strip(quotes)
    return clause.strip(" \t-*#.!:")


def _is_pasted(sentence: str) -> bool:
    if _PASTED_START.match(sentence) or _MARKUP.search(sentence):
        return True
    if _CODE_LINE.match(sentence):
        return True
    # Most sentences have no colon, and each of these needs one.
    return ":" in sentence and bool(_PLACE.search(sentence) or _ADDRESS.search(sentence))


def wish_words(clause: str) -> tuple[str, ...]:
    """Return the marks and the stems of a clause, without fillers.

    Chinese, Japanese and Korean text gives pairs of neighbouring characters.
    """
    marks, found = [], []
    for mark, expression in _MARKS:
        if expression.search(clause):
            marks.append(mark)
            clause = expression.sub(" ", clause)
    for word in _WORD.findall(clause.lower()):
        if _IS_CJK.match(word):
            for part in _cjk_parts(word):
                if _KATAKANA.fullmatch(part):
                    found.append(part)
                else:
                    found += [part[place : place + 2] for place in range(max(1, len(part) - 1))]
        elif "/" not in word and not word.isdigit() and len(word) <= _LONGEST_WORD:
            found.append(stem(_ENDING.sub("", word.strip(".@-_!?"))))
    kept = [word for word in found if word and word not in _FILLERS]
    return (*marks, *kept) if kept else ()


def is_katakana(word: str) -> bool:
    return _KATAKANA.fullmatch(word) is not None


def _cjk_parts(word: str) -> list[str]:
    parts = [part for one in _HIRAGANA.split(word) for part in _KATAKANA.split(one) if part]
    if len(parts) == 1 or any(map(_KATAKANA.match, parts)):
        # Beside a word in katakana, a single character says what to do with it.
        return parts
    return [part for part in parts if len(part) > 1]


def stem(word: str) -> str:
    if word[-1:] not in "sngd":
        return word
    for ending in ("ations", "ation", "ing", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word[: -len(ending)]
            break
    else:
        return word
    # "Branches" is the plural of "branch", and "titles" that of "title".
    return word[:-1] if ending == "s" and word.endswith(_SIBILANTS) else word


_SIBILANTS = ("se", "xe", "ze", "che", "she")
