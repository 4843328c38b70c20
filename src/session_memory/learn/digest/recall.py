"""The terms by which a session is found again, with the weight of each.

Terms come from the texts of the digest, and from answers, plans and commit messages that the digest
does not hold. Each kind of text has its own weight (BM25F): a word of a commit message says more
about a session than a word of one of its many answers. What a long text repeats counts less.

The weights are made from one session alone. So its terms do not depend on other sessions.
"""

from collections import deque
from collections.abc import Iterable
from functools import cached_property

from session_memory.learn.digest import Digest, Statement
from session_memory.learn.digest.error_terms import error_terms
from session_memory.learn.digest.people import LONGEST
from session_memory.learn.digest.texts import Texts
from session_memory.redact import mask, mask_cut
from session_memory.search.recall_fields import FIELDS, packed_weights
from session_memory.search.recall_terms import count_terms
from session_memory.store.brief_events import BriefEvent

MOST_TERMS = 300
LONGEST_FIELD = 4_000
# Of the last answer the text is read, of these others only the summary: reading takes long.
FIRST_SUMMARIES, LAST_SUMMARIES = 40, 8
LONGEST_ANSWER = 300
MOST_PLANS = 3
MOST_COMMITS = 20
LENGTH_SHARE = 0.7
"""How much the length of a text matters: 0 is not at all, 1 in full."""


class RecallTexts:
    """Texts of a session that its digest does not hold. Their number and length are limited."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._last: BriefEvent | None = None
        self._first_summaries: list[str] = []
        self._last_summaries: deque[str] = deque(maxlen=LAST_SUMMARIES)
        self.plans: list[Statement] = []
        self.commits: list[str] = []

    def answer(self, event: BriefEvent) -> None:
        if (before := self._last) is not None:
            is_full = len(self._first_summaries) >= FIRST_SUMMARIES
            (self._last_summaries if is_full else self._first_summaries).append(before.summary)
        self._last = event

    def plan(self, event: BriefEvent) -> None:
        if len(self.plans) < MOST_PLANS:
            self.plans.append(self._statement(event))

    def commit(self, event: BriefEvent) -> None:
        """A call that committed. It has the message."""
        if len(self.commits) < MOST_COMMITS:
            self.commits.append(self._text(event))

    @property
    def summaries(self) -> list[str]:
        """The summaries of the answers before the last one."""
        return [*self._first_summaries, *self._last_summaries]

    @cached_property
    def last_text(self) -> Statement | None:
        """The last answer. Read it once all events were added."""
        return None if self._last is None else self._statement(self._last)

    @property
    def shown_plans(self) -> tuple[Statement, ...]:
        return tuple(map(_shortened, self.plans))

    @property
    def last_answer(self) -> Statement | None:
        return _shortened(self.last_text) if self.last_text else None

    def _statement(self, event: BriefEvent) -> Statement:
        return Statement(event.event_uid, event.ts, self._text(event))

    def _text(self, event: BriefEvent) -> str:
        text = self._texts.words(event)
        # A summary may be cut in a secret. Longer texts were masked before they were cut.
        return mask_cut(text) if text == event.summary else text


def _masked(summaries: list[str]) -> str:
    """Summaries without secrets and without their last words, which may be cut in a secret."""
    return mask("\n".join(map(_without_cut_word, summaries)))


def _without_cut_word(summary: str) -> str:
    if not summary.endswith("…"):
        return summary
    return summary[: -len(summary.rsplit(None, 1)[-1])]


def _shortened(statement: Statement) -> Statement:
    return Statement(statement.event_uid, statement.ts, statement.text[:LONGEST])


def recall_terms(digest: Digest, more: RecallTexts | None = None) -> dict[str, int]:
    """The terms of a session, each with its weight and its fields as one number.

    Without ``more``, as for an evicted session, they come from the digest alone.
    """
    plans = more.plans if more else list(digest.plans)
    last = more.last_text if more else digest.last_answer
    answer = last.text if last else ""
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
        "last": [answer],
        "answer": [answer[:LONGEST_ANSWER], _masked(more.summaries if more else [])],
        "file": [file.path for file in digest.files if file.edits],
        "command": [command.text for command in digest.commands],
        "commit": [*(one.text for one in digest.commits), *(more.commits if more else ())],
        "error": [error.sample for error in digest.error_snippets],
        "decision": [one.text for one in digest.decisions],
        "branch": [digest.git_branch or ""],
        "repo": [digest.repo or ""],
    }
    sums: dict[str, float] = {}
    places: dict[str, int] = {}
    for field in FIELDS:
        text = "\n".join(fields[field.name])[:LONGEST_FIELD]
        counts = count_terms(text) if text else {}
        length = sum(counts.values())
        one = field.weight / (1 - LENGTH_SHARE + LENGTH_SHARE * length / field.usual_length)
        weights = {term: one * count for term, count in counts.items()}
        bits = dict.fromkeys(weights, field.bit)
        for term in weights.keys() & sums.keys():
            weights[term] += sums[term]
            bits[term] |= places[term]
        sums.update(weights)
        places.update(bits)
    terms = packed_weights((term, sums[term], places[term]) for term in _heaviest(sums))
    terms |= error_terms(digest)
    # To sort texts is much faster than to sort pairs.
    return {term: terms[term] for term in sorted(terms)}


def _heaviest(sums: dict[str, float]) -> list[str]:
    """The `MOST_TERMS` heaviest terms. Of equally heavy ones, those that the alphabet has first."""
    if len(sums) <= MOST_TERMS:
        return list(sums)
    # To sort the weights is much faster than to sort the terms by weight.
    least = sorted(sums.values(), reverse=True)[MOST_TERMS - 1]
    heavier = [term for term, weight in sums.items() if weight > least]
    equal = sorted(term for term, weight in sums.items() if weight == least)
    return heavier + equal[: MOST_TERMS - len(heavier)]
