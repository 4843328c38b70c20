"""Find errors that people report: they paste an output, or say in words what does not work.

Such an error has no failed call. It counts as resolved by the changes that follow, up to the next
message of the person. Changes of files and names that the report mentions are preferred.
"""

import re
from collections import deque

from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.core.text import escaped, one_line
from session_memory.learn.digest import ErrorSnippet
from session_memory.learn.digest.actions import Action
from session_memory.learn.digest.error_lines import SAMPLE, ErrorLine, error_lines
from session_memory.learn.digest.fingerprints import fingerprint
from session_memory.learn.digest.resolutions import resolution_of_report
from session_memory.learn.digest.runner_lines import DIAGNOSTIC, MESSAGE
from session_memory.learn.digest.texts import Texts
from session_memory.redact import mask
from session_memory.store.brief_events import BriefEvent

MOST_REPORTS = 30
MOST_ERRORS_OF_ONE = 4
MOST_ACTIONS = 60
LONGEST_COMPLAINT = 1_500
_NEAR = 600
_SEARCHED = 6_000
_COMPLAINT = lazy_pattern(
    r"""(?ix) \b(?: errors? | fail(?:s|ed|ing|ure)? | bugs? | broken? | crash(?:es|ed|ing)?
      | exception | warnings? | wrong | stuck
      | (?:does|is|are|did|was|were|has)(?:n['’]t|\ not) | cannot
      | not\ work\w* | no\ longer | unable
      | fehler\w* | kaputt | geht\ nicht | funktioniert\ nicht | erreur | échoue | plante
      | falla\w* | no\ funciona | erro | не\ работает | ошибк\w* )\b
    | 错误 | 报错 | 失败 | 无法
    | エラー | 失敗 | 動かない | 動作しない | 오류 | 실패 """,
)
# Each complaint in ASCII has one of these parts.
_COMPLAINT_PARTS = (
    *("erro", "fail", "bug", "brok", "crash", "exception", "warning", "wrong", "stuck", "n't"),
    *(" not", "cannot", "no longer", "unable", "fehler", "kaputt", "nicht", "erreur", "plante"),
    *("falla", "no funciona"),
)
# These words say that something is wrong. A text with "errors" may be a task: "sort errors first".
_STRONG_COMPLAINT = lazy_pattern(
    r"""(?ix) \b(?: (?:root\ )?cause | fail(?:s|ed|ing)? | bugs? | broken? | crash(?:es|ed|ing)?
      | wrong | stuck
      | (?:does|is|are|did|was|were|has)(?:n['’]t|\ not) | cannot | can['’]t
      | not\ work\w* | no\ longer | unable
      | kaputt | geht\ nicht | funktioniert\ nicht | échoue | plante
      | falla\w* | no\ funciona | не\ работает )\b
    | 报错 | 失败 | 无法 | 失敗 | 動かない | 動作しない | 실패 """,
)
_HEADING = lazy_pattern(r"^#{1,3} \S", re.MULTILINE)
_ITEM = lazy_pattern(r"[-*+•]\s|\d+[.)]\s|#|\|")
_SENTENCE = lazy_pattern(r"(?<=[.!?。！？])\s+|\n+")


class Reports:
    def __init__(self) -> None:
        self._open: list[tuple[BriefEvent, list[ErrorLine]]] = []
        self._actions: deque[Action] = deque(maxlen=MOST_ACTIONS)
        self.snippets: dict[str, ErrorSnippet] = {}

    def add(self, event: BriefEvent, text: str, texts: Texts) -> None:
        """Add a message of a person. From now on, changes resolve only errors of this message."""
        self.close(texts)
        if len(self.snippets) < MOST_REPORTS and (found := _reported(text)):
            self._open.append((event, found))

    def did(self, action: Action) -> None:
        if self._open and (action.is_edit or action.is_shell):
            self._actions.append(action)

    def close(self, texts: Texts) -> None:
        for event, errors in self._open:
            for error in errors:
                how = resolution_of_report(error, list(self._actions), texts)
                mark = fingerprint(error.text)
                if how is None or mark in self.snippets:
                    continue
                self.snippets[mark] = ErrorSnippet(
                    fingerprint=mark,
                    sample=error.text,
                    count=1,
                    tool=None,
                    event_uids=(event.event_uid,),
                    resolution=how,
                    near=error.near,
                    origin="report",
                )
        self._open.clear()
        self._actions.clear()


def _reported(text: str) -> list[ErrorLine]:
    # In a message "1) …" is an item of a list, not a failed test, and "M280 Pn" is no rule of ruff.
    found = [
        one
        for one in error_lines(text, hints=False)
        if one.grade in (DIAGNOSTIC, MESSAGE)
        and one.tool != "mocha"
        and (one.tool != "ruff" or one.path)
    ]
    if found:
        return found[:MOST_ERRORS_OF_ONE]
    if len(text) <= _SEARCHED and not _complains(text):
        # Masking takes longer, and most messages complain about nothing.
        return []
    text = mask(text)
    start = text[:LONGEST_COMPLAINT]
    sentences = [one.strip() for one in _SENTENCE.split(start) if one.strip()]
    is_plan = len(text) > _NEAR and _HEADING.search(start) is not None
    if is_plan:
        # A plan describes the problem in its sentences. Its list items say what to do.
        sentences = [one for one in sentences if not _ITEM.match(one)]
    complaints = [one for one in sentences if _is_complaint(one)]
    strong = [
        one
        for one in complaints
        if _STRONG_COMPLAINT.search(_HARMLESS.sub("…", _QUOTED.sub("…", one)))
    ]
    if not complaints or (is_plan and not strong):
        return []
    words = (strong or complaints)[0]
    near = one_line(escaped(start), _NEAR) if len(text) < _NEAR else _both_ends(text)
    return [ErrorLine(one_line(escaped(words), SAMPLE), near)]


def _both_ends(text: str) -> str:
    """Return the beginning and the end of a text; a pasted log says at its end what went wrong."""
    half = _NEAR // 2
    return f"{one_line(escaped(text), half)} {one_line(escaped(text[-half:]), half)}"


# These words deny something without saying that anything is wrong: "we no longer need it".
_HARMLESS = lazy_pattern(
    r"""(?ix) \b(?: (?:is|are|was|were)(?:n['’]t|\ not)\ an?\ (?:error|bug|problem|issue|failure)\b
      | no\ longer\ (?:need\w*|use[ds]?|necessary|relevant|require\w*|want\w*|apply)
      | (?:do|does|did|is|are|was|were|has|should)(?:n['’]t|\ not)
        \ (?: (?:seem\ to\ |really\ |even\ )?
             (?:make\ sense | matter | need | require | want | mean | have\ to | care)
           | (?:a|an|the)\b (?!\ (?:real|valid|correct|right|proper)\b)
           | (?:needed|required|necessary|part\ of|related|developed|endorsed) )
      | I\ (?:do|did|was|am|have|had)(?:n['’]t|\ not) | fail\ (?:if|when|loudly|on|fast)
      | not\ related )\b""",
)
# Requests that name a kind of problem and not the problem: "address the failing checks".
_REQUEST = lazy_pattern(
    r"""(?ix) \W*(?:please\ |and\ |then\ |also\ |now\ )*
      (?: do(?:n['’]t|\ not)\ (?!know|see|understand|get|think)
      | address | ensure | make\ sure | add | remove | update | spawn | create | implement
      | rename | move | write | change | review
      | (?:can|could|should|shall)\ (?:we|you|i)\ (?!.*\bfix) )\b""",
)
# A line of a diff that a person pasted.
_DIFF_LINE = lazy_pattern(r"[+]\s")
# Sentences such as "if it fails, stop" and "fail loudly" say what to do and are no complaints.
_RULE = lazy_pattern(
    r"\W*note\b|\W*(?:\d+[.)]\s*)?(?:(?:important|remember)\W+)?"
    r"(?:if|when|whenever|unless|in case|falls|wenn|si|quand|если|fail)\b"
    r"|如果|もし",
    re.IGNORECASE,
)
_QUOTED = lazy_pattern(r"`[^`\n]*`")


def _is_complaint(sentence: str) -> bool:
    if _RULE.match(sentence) or _REQUEST.match(sentence) or _DIFF_LINE.match(sentence):
        return False
    if not _complains(sentence):
        return False
    sentence = _HARMLESS.sub("…", _QUOTED.sub("…", sentence))
    is_question = sentence.endswith(("?", "？")) and not sentence.lower().startswith("why")
    return not is_question and _complains(sentence)


def _complains(text: str) -> bool:
    # Nearly every text without a complaint has none of these parts, and this search is faster.
    if text.isascii():
        lowered = text.lower()
        if not any(part in lowered for part in _COMPLAINT_PARTS):
            return False
    return _COMPLAINT.search(text) is not None
