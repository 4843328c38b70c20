"""Format amounts of money as text."""

from session_memory.pricing.sessions import Amount

UNPRICED = "unpriced"
MILLION = 1_000_000
_FINE = 100_000


def shown(amount: Amount) -> str:
    """Format an amount: ``$1.23``, ``unpriced`` or ``$1.23 + unpriced``; ``-`` for a cost of 0."""
    if not amount.unpriced_tokens:
        return dollars(amount.microdollars) if amount.microdollars else "-"
    return f"{dollars(amount.microdollars)} + {UNPRICED}" if amount.microdollars else UNPRICED


def dollars(microdollars: int) -> str:
    """Format micro-dollars: ``$1,234.50``; below $0.10 four decimals, below $0.0001 six."""
    sign, size = ("-" if microdollars < 0 else ""), abs(microdollars)
    if size == 0:
        return "$0.00"
    digits = 2 if size >= _FINE else 4 if size >= 100 else 6
    unit = 10 ** (6 - digits)
    # Integer rounding, because a float would round 1.005 down.
    rounded = (size + unit // 2) // unit
    whole, rest = divmod(rounded, 10**digits)
    return f"{sign}${whole:,}.{rest:0{digits}}"
