"""Read the costs that agents log themselves, in micro-dollars.

An agent may log what a response cost (`NativeUsage.reported_cost`) or what its whole session cost
so far (the two facts below). Both are stored as they were logged. The audit of costs compares them
with the amounts that are computed from prices; no total includes them.
"""

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from session_memory.core.text import escaped

# A million dollars for a response. Sums of millions of them still fit into both databases.
MOST_MICRODOLLARS = 10**12
MOST_MODELS = 64

SESSION_COSTS = "reported_costs"
"""The name of a fact of a session: its cost so far in micro-dollars, by model. The model is "" if
the log names none."""
TREE_COSTS = "reported_costs_with_subagents"
"""As ``SESSION_COSTS``, for agents whose figures include the subagents of the session."""


def microdollars(dollars: Any) -> int | None:
    """Return a logged number of dollars in micro-dollars; None if it is missing or cannot be
    true."""
    if type(dollars) is not int and not isinstance(dollars, float | Decimal):
        return None
    try:
        exact = Decimal(str(dollars)) * 1_000_000
        # `quantize` refuses infinity, NaN and numbers of too many digits.
        amount = int(exact.quantize(Decimal(1), ROUND_HALF_UP))
    except (InvalidOperation, ValueError):
        return None
    return amount if 0 <= amount <= MOST_MICRODOLLARS else None


def costs_by_model(logged: Mapping[str, Any]) -> dict[str, int]:
    """Convert logged dollars by model to micro-dollars. Figures that cannot be true are left
    out."""
    some = list(logged.items())[:MOST_MODELS]
    amounts = {escaped(str(model)): microdollars(dollars) for model, dollars in some}
    return {model: amount for model, amount in amounts.items() if amount is not None}
