"""Compute the search terms of a session, by which ``how`` and ``similar`` find it.

Terms come from the texts of the digest, and from answers, plans and commit messages that the digest
does not hold. Each kind of text has its own weight (BM25F): a word of a commit message says more
about a session than a word of one of its many answers. A word in a long text counts less.

The weights come from one session alone. So they stay the same when other sessions are added.
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
# The whole text of the last answer is used. Of the other answers only the summaries are used,
# because reading texts takes long. These are the numbers of summaries at the beginning and the end.
FIRST_SUMMARIES, LAST_SUMMARIES = 40, 8
LONGEST_ANSWER = 300
MOST_PLANS = 3
MOST_COMMITS = 20
LENGTH_SHARE = 0.7
"""How much a long text lowers the weight of its terms: 0 is not at all, 1 in full."""


class RecallTexts:
    """Collects texts of a session that its digest does not hold, for its search terms.

    Their number and length are limited.
    """

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
        """Add a call that committed. Its text has the commit message."""
        if len(self.commits) < MOST_COMMITS:
            self.commits.append(self._text(event))

    @property
    def summaries(self) -> list[str]:
        """The summaries of the answers before the last one."""
        return [*self._first_summaries, *self._last_summaries]

    @cached_property
    def last_text(self) -> Statement | None:
        """The last answer of the session. Ask for it only after all events were added."""
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
        # A summary may be cut inside a secret. Longer texts were masked before they were cut.
        return mask_cut(text) if text == event.summary else text


def _masked(summaries: list[str]) -> str:
    """Join summaries with secrets masked. The last word of a cut summary is left out, because it
    may be half a secret."""
    return mask("\n".join(map(_without_cut_word, summaries)))


def _without_cut_word(summary: str) -> str:
    if not summary.endswith("…"):
        return summary
    return summary[: -len(summary.rsplit(None, 1)[-1])]


def _shortened(statement: Statement) -> Statement:
    return Statement(statement.event_uid, statement.ts, statement.text[:LONGEST])


def recall_terms(digest: Digest, more: RecallTexts | None = None) -> dict[str, int]:
    """Return the search terms of a session. The number of each packs its weight and its fields.

    Fields are the kinds of texts with the term (title, prompt, …). Without ``more``, the terms come
    from the digest alone, as for an evicted session, whose other texts cannot be read.
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
    # Sorting the keys is much faster than sorting pairs.
    return {term: terms[term] for term in sorted(terms)}


def _heaviest(sums: dict[str, float]) -> list[str]:
    """Return the `MOST_TERMS` terms with the highest weights; of equal ones, the first by name."""
    if len(sums) <= MOST_TERMS:
        return list(sums)
    # Sorting the weights is much faster than sorting the terms by their weights.
    least = sorted(sums.values(), reverse=True)[MOST_TERMS - 1]
    heavier = [term for term, weight in sums.items() if weight > least]
    equal = sorted(term for term, weight in sums.items() if weight == least)
    return heavier + equal[: MOST_TERMS - len(heavier)]
