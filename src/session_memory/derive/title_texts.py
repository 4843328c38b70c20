"""Decide which texts say what a session is about, and make a title of such a text."""

import re

from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.core.text import one_line

TITLE = 80
# How much of a text is looked at: a prompt may be a pasted log of megabytes.
_START = 400
# What programs say instead of a title when they could not reach a model.
_NOTICE = lazy_pattern(
    r"you.ve (?:hit|reached) your \S*\s?(?:usage |session |weekly )*limit|"
    r"(?:claude(?: ai)? )?usage limit reached|(?:5-hour|weekly|session) limit reached|"
    r"(?:api|request|connection|stream|internal server) error\b|"
    r"credit balance (?:is )?too low|"
    r"invalid api key|missing api key|please run /login|oauth token (?:has )?(?:expired|revoked)|"
    r"failed to authenticate|prompt is too long|rate limit(?:ed| reached| exceeded)|"
    r"no response requested|\[?request interrupted",
    re.IGNORECASE,
)
# Matches prompts that say nothing about any work: a bare command, a greeting, a mere yes.
_EMPTY = (
    r"/(?:[a-z][\w:.-]*)?|(?::q!?|exit|quit|clear|bye|hi|hello|hey|ok(?:ay)?|yes|y|no|continue|"
    r"go on|go ahead|resume|thanks|thank you"
)
_SAYS_NOTHING = lazy_pattern(rf"{_EMPTY})[.!?]?", re.IGNORECASE)
# Matches the same texts and a few more words. A person may give a session such a title, but a
# prompt with such a text does not say what the session is about.
_WEAK = lazy_pattern(
    rf"{_EMPTY}|test(?: prompt| message)?|ping|init|help|start|shell|retry|again|proceed|next|"
    r"继续|好的?|はい|続けて|weiter|ja|oui|sí|да|дальше)[.!?。！]?",
    re.IGNORECASE,
)
# The words of chores before and after the work: check out a branch, pull, commit, push. A prompt is
# a chore if all its words are in these two lists, and at least one of them is in `_PLACES`.
_PLACES = """
    commit push pull fetch sync rebase checkout merge stage ship
    main master develop trunk branch remote origin origin/main origin/master upstream head
    github gitlab pr
"""
_BESIDE = """
    ok okay so now first please pls just and then hey can could you we let's lets i want to bitte
    git add update check out switch go get move come return reset bring back
    the this that these it all them my your our a new from on onto with up date of in into over is
    if
    latest current newest local clean changes change everything work code commits version repo
    repository status discard stash files
"""
_DONE_WITH = frozenset(_PLACES.split())
_CHORE_WORDS = _DONE_WITH | frozenset(_BESIDE.split())
_WORD = lazy_pattern(r"[\w'’/-]+")
_CHORE_EAST = lazy_pattern(
    r".{0,4}(?:回到|切换到|切到|拉取|更新到?|同步|合并)[^，。,]{0,12}"
    r"(?:main|master|主分支|分支|最新|远程)[^，。,]{0,8}"
    r"|(?:帮我)?(?:提交并推送|提交|推送|拉取|同步|コミット|プッシュ)(?:一下|代码|修改|して)?(?:ください)?[。！]?",
    re.IGNORECASE,
)
_LONGEST_CHORE = 100
# Subjects of commits that say that something changed, and not what.
_EMPTY_SUBJECT = lazy_pattern(
    r"(?:(?:chore|fix|feat|docs|refactor|style|test|build|ci)(?:\([^)]*\))?!?: *)?"
    r"(?:wip|tmp|temp|updates?|changes?|fix(?:es|ed)?|misc|clean ?up|(?:initial|first) commit|"
    r"checkpoint|save|test(?:ing|s)?|lint|format(?:ting)?|review(?: (?:fixes|comments|feedback))?|"
    r"address (?:review|pr)? ?(?:feedback|comments)|typos?|oops|\.+|"
    r"(?:bump|release|prepare)\b.{0,40}|v?\d+(?:\.\d+)+.{0,20})|merge (?:branch|pull|remote).*"
    r"|(?:fixup|squash|amend)! .*|revert \".*",
    re.IGNORECASE,
)
_LINK = lazy_pattern(r"!?\[([^\]\n]{1,120})\]\([^)\s]{1,400}\)")
_PLAN = lazy_pattern(r"(?:implementation )?plan\s?[:：]\s*", re.IGNORECASE)
# Only a heading of the first level is the title of a document. Other headings begin a part of a
# template.
_HEADING = lazy_pattern(r"# +(?P<text>.*)")
# A template that begins with the person's own words in a block: "## User Input", "```text".
_INPUT = lazy_pattern(r"#{2,6} [^\n]{1,60}\n\s{0,9}```\w{0,20}\n\s{0,9}(?P<text>[^`\s][^`]*)")


def is_notice(text: str) -> bool:
    """Whether a title is in truth a message about a limit or an error."""
    return _NOTICE.match(text.lstrip(" ·⎿*#")[:_START]) is not None


def is_weak(prompt: str) -> bool:
    """Whether a prompt says nothing about the work, so that a later one is the better title."""
    start = prompt[:_START].strip()
    if _WEAK.fullmatch(start):
        return True
    return len(start) <= _LONGEST_CHORE and _is_chore(start)


def _is_chore(prompt: str) -> bool:
    words = {word.lower().replace("’", "'") for word in _WORD.findall(prompt)}
    if words <= _CHORE_WORDS:
        return bool(words & _DONE_WITH)
    return _CHORE_EAST.fullmatch(prompt) is not None


def says_something(subject: str) -> bool:
    """Whether the subject of a commit says what was done."""
    return len(subject) > 3 and _EMPTY_SUBJECT.fullmatch(subject.strip()) is None


def says_nothing(title: str) -> bool:
    """Whether a title says nothing about the work, so that any other name is better."""
    return _SAYS_NOTHING.fullmatch(title.strip()) is not None


def title_of(text: str) -> str:
    """Make a title of a prompt, on one line: of the heading that it begins with, else of all its
    words. A link becomes its text."""
    start = text[: _START * 2].lstrip()
    heading = _HEADING.match(start) or _INPUT.match(start)
    words = heading["text"].strip(" #") if heading else text[: _START * 4]
    if "](" in words:
        words = _LINK.sub(r"\1", words)
    return one_line(_PLAN.sub("", words, count=1) if _PLAN.match(words) else words, TITLE)
