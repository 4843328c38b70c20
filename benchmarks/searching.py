"""Search: how long the index takes to answer, what a snippet adds, and whether all is found.

    python benchmarks/searching.py STORE TRUTH

Questions are asked of an open store, hits and scores alone; the best of several counts, for the
rest is what else the machine does. Needles are those of the corpus' truth.json.
"""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from session_memory import open_store
from session_memory.core.time import now_ms
from session_memory.derive.bodies import Bodies
from session_memory.search import Filters, SearchAnswer, find_hits, parse
from session_memory.search.snippets import snippet
from session_memory.store import Store
from session_memory.store.hits import Hit
from session_memory.views.search import search

if TYPE_CHECKING:
    from measurements import Measurements

TIMES = 9
RARE = "quuxzanzibar"
COMMON = ("the", "error", "the file")
# Words that are in nearly every text, joined as they are in none.
HYPHENATED = ("a-b", "to-do", "the-of")
WALLS = {
    "search, rare word": RARE,
    "search, common word": "the",
    "search, a path": "src/auth",
    "search, a-b": "a-b",
}


def measure(m: "Measurements") -> None:
    """Into the figures of a run, and the whole command as a person types it."""
    truth = m.corpus.home.parent / "truth.json"
    m.figures |= m.bench.script(Path(__file__), m.store, truth).answer
    for name, question in WALLS.items():
        for _ in range(5):
            m.timed(name, "search", question, "--store", m.store)


def answers(store: Store, truth: dict[str, Any]) -> dict[str, float]:
    return {
        "search_rare_ms": _best(partial(_asked, store, RARE)) * 1000,
        "search_common_ms": max(_best(partial(_asked, store, word)) for word in COMMON) * 1000,
        "search_hyphen_ms": max(_best(partial(_compared, store, one)) for one in HYPHENATED) * 1000,
        "snippet_ms": _snippet(store) * 1000,
        "search_wrong": len(wrong(store, truth["needle_sessions"])),
    }


def _asked(store: Store, question: str, *classes: str) -> SearchAnswer:
    def never(hit: Hit) -> str:
        raise AssertionError("no text is needed for words")

    filters = Filters(classes=classes)
    return find_hits(store, parse(question), filters, text_of=never, now=now_ms(), limit=20)


def _compared(store: Store, question: str) -> object:
    return search(store, question, Filters(), now=now_ms(), limit=20, snippets=False)


def _best(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(TIMES):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def _snippet(store: Store) -> float:
    """Seconds for each of the first twenty, texts fetched from the stored logs."""
    answer = _asked(store, "error", "output")
    hits = [one.hit for one in answer.found if one.hit is not None]

    def shown() -> None:
        bodies = Bodies(store)
        for hit in hits:
            body = bodies.at(hit.source, hit.place, hit.length, hit.block)
            snippet(body.text, answer.terms)

    return _best(shown) / len(hits)


def wrong(store: Store, planted: dict[str, Any]) -> list[str]:
    """Needles that are not found in exactly the sessions where they were planted."""
    found = {
        needle: {
            hit.session_uid
            for hit in search(store, needle, Filters(), now=now_ms(), limit=0, snippets=False).hits
        }
        for needle in planted
    }
    return [
        needle
        for needle, expected in planted.items()
        if found[needle] != {f"claude:{session}" for session in expected["sessions"]}
    ]


def main() -> None:
    where, truth = sys.argv[1:]
    with open_store(where, create=False) as store:
        print(json.dumps(answers(store, json.loads(Path(truth).read_text()))))


if __name__ == "__main__":
    main()
