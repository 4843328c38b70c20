"""Compute what usage costs: every usage record is priced once, in whole micro-dollars.

The command line, the web page and the other surfaces take their amounts from here, so all of them
show the same figures.
"""

from session_memory.pricing.money_text import dollars, shown
from session_memory.pricing.sessions import Amount, session_amounts, tree_amounts

__all__ = ["Amount", "dollars", "session_amounts", "shown", "tree_amounts"]
