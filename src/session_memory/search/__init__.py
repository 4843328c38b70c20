"""Search the index: find events by words, score them, and find similar sessions."""

from session_memory.search.filters import Filters
from session_memory.search.find import SearchAnswer, find_hits
from session_memory.search.query import Query, parse
from session_memory.search.scores import ScoredHit

__all__ = ["Filters", "Query", "ScoredHit", "SearchAnswer", "find_hits", "parse"]
