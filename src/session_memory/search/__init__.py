"""Search the index: find events by words, score them, and find similar sessions."""

from session_memory.core.late_names import late_names

TYPE_CHECKING = False  # Type checkers take it for true: see `core.late_names`.
if TYPE_CHECKING:
    from session_memory.search.filters import Filters
    from session_memory.search.find import SearchAnswer, find_hits
    from session_memory.search.query import Query, parse
    from session_memory.search.scores import ScoredHit

__all__ = ["Filters", "Query", "ScoredHit", "SearchAnswer", "find_hits", "parse"]

__getattr__ = late_names(
    __name__,
    {
        "Filters": "filters",
        "Query": "query",
        "ScoredHit": "scores",
        "SearchAnswer": "find",
        "find_hits": "find",
        "parse": "query",
    },
)
