"""The terms by which a session is found again, with the weight of each.

Terms come from the texts of the digest, and from answers, plans and commit messages that the digest
does not hold. Each kind of text has its own weight (BM25F): a word of a commit message says more
about a session than a word of one of its many answers. What a long text repeats counts less.

The weights are made from one session alone. So its terms do not depend on other sessions.
"""

from collections import Counter, deque
from collections.abc import Iterable
from functools import cached_property

from session_memory.learn.digest import Digest, Statement
from session_memory.learn.digest.error_terms import error_terms
from session_memory.learn.digest.people import LONGEST
from session_memory.learn.digest.texts import Texts
from session_memory.redact import mask_cut
from session_memory.search.recall_fields import FIELDS, RecallField, packed_weight
from session_memory.search.recall_terms import terms_in
from session_memory.store.brief_events import BriefEvent

MOST_TERMS = 600
MOST_ANSWERS = 24
LONGEST_ANSWER = 300
MOST_PLANS = 3
MOST_COMMITS = 20
LENGTH_SHARE = 0.7
"""How much the length of a text matters: 0 is not at all, 1 in full."""


class RecallTexts:
    """Texts of a session that its digest does not hold. Their number and length are limited."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._first: list[BriefEvent] = []
        self._last: deque[BriefEvent] = deque(maxlen=MOST_ANSWERS // 2)
        self.plans: list[Statement] = []
        self.commits: list[str] = []

    def answer(self, event: BriefEvent) -> None:
        if len(self._first) < MOST_ANSWERS // 2:
            self._first.append(event)
        else:
            self._last.append(event)

    def plan(self, event: BriefEvent) -> None:
        if len(self.plans) < MOST_PLANS:
            self.plans.append(self._statement(event))

    def commit(self, event: BriefEvent) -> None:
        """A call that committed. It has the message."""
        if len(self.commits) < MOST_COMMITS:
            self.commits.append(self._text(event))

    @cached_property
    def answers(self) -> list[Statement]:
        """The first and the last answers. Read them once all events were added."""
        return [self._statement(event) for event in (*self._first, *self._last)]

    @property
    def shown_plans(self) -> tuple[Statement, ...]:
        return tuple(map(_shortened, self.plans))

    @property
    def last_answer(self) -> Statement | None:
        return _shortened(self.answers[-1]) if self.answers else None

    def _statement(self, event: BriefEvent) -> Statement:
        return Statement(event.event_uid, event.ts, self._text(event))

    def _text(self, event: BriefEvent) -> str:
        text = self._texts.words(event)
        # A summary may be cut in a secret. Longer texts were masked before they were cut.
        return mask_cut(text) if text == event.summary else text


def _shortened(statement: Statement) -> Statement:
    return Statement(statement.event_uid, statement.ts, statement.text[:LONGEST])


def recall_terms(digest: Digest, more: RecallTexts | None = None) -> dict[str, int]:
    """The terms of a session, each with its weight and its fields as one number.

    Without ``more``, as for an evicted session, they come from the digest alone.
    """
    plans = more.plans if more else list(digest.plans)
    answers = more.answers if more else [one for one in [digest.last_answer] if one]
    prompts = [one.text for one in digest.prompts]
    first = digest.first_request.text if digest.first_request else ""
    fields: dict[str, Iterable[str]] = {
        "title": [digest.title or ""],
        "prompt": [first],
        "later": [
            *(text for text in prompts if text != first),
            *(one.text for one in digest.interventions),
        ],
        "plan": [one.text for one in plans],
        "last": [one.text for one in answers[-1:]],
        "answer": [one.text[:LONGEST_ANSWER] for one in answers],
        "file": [file.path for file in digest.files if file.edits],
        "command": [command.text for command in digest.commands],
        "commit": [*(one.text for one in digest.commits), *(more.commits if more else ())],
        "error": [error.sample for error in digest.error_snippets],
        "decision": [one.text for one in digest.decisions],
        "branch": [digest.git_branch or ""],
        "repo": [digest.repo or ""],
    }
    sums: Counter[str] = Counter()
    places: Counter[str] = Counter()
    for field in FIELDS:
        _add(field, fields[field.name], sums, places)
    best = sorted(sums, key=lambda term: (-sums[term], term))[:MOST_TERMS]
    terms = {term: packed_weight(sums[term], places[term]) for term in best}
    return dict(sorted((terms | error_terms(digest)).items()))


def _add(
    field: RecallField, texts: Iterable[str], sums: Counter[str], places: Counter[str]
) -> None:
    counts = Counter(term for text in texts for term in terms_in(text))
    length = sum(counts.values())
    one = field.weight / (1 - LENGTH_SHARE + LENGTH_SHARE * length / field.usual_length)
    for term, count in counts.items():
        sums[term] += one * count  # type: ignore[assignment]
        places[term] |= field.bit
