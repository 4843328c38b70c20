"""Ask the index: which events say what, how well each fits, and which sessions are alike."""

from session_memory.search.ask import Answer, ask
from session_memory.search.filters import Filters
from session_memory.search.query import Query, parse
from session_memory.search.scores import Found

__all__ = ["Answer", "Filters", "Found", "Query", "ask", "parse"]
