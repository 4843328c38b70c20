"""Prices of usage: every usage record is priced once, in integer micro-dollars.

Every surface takes its amounts from here, so all of them show the same figures.
"""

from session_memory.pricing.money_text import dollars, shown
from session_memory.pricing.sessions import Amount, session_amounts, tree_amounts

__all__ = ["Amount", "dollars", "session_amounts", "shown", "tree_amounts"]
