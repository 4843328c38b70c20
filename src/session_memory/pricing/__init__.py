"""Tokens to money: every usage record priced once, in integer micro-dollars, with provenance.

What a session costs is asked here and nowhere else, so that every surface shows the same figure.
"""

from session_memory.pricing.sessions import Amount, session_amounts, tree_amounts
from session_memory.pricing.words import dollars, shown

__all__ = ["Amount", "dollars", "session_amounts", "shown", "tree_amounts"]
