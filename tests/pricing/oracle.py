"""genai-prices itself, asked what a response costs: the judge of our own arithmetic."""

from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal

from genai_prices import Usage as UsageFilter
from genai_prices import calc_price

from session_memory.core.schema import Usage
from session_memory.core.time import parse_time

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIERS = {"flex": "service_tier", "priority": "service_tier", "fast": "service_tier"}


def microdollars(used: Usage, provider: str | None = None) -> int:
    """What the oracle charges, rounded as we do; `LookupError` for a model it does not know."""
    return rounded(price(used, provider))


def price(used: Usage, provider: str | None = None) -> Decimal:
    written = used.cache_write_tokens
    asked = UsageFilter(
        input_tokens=used.input_tokens + used.cache_read_tokens + written,
        output_tokens=used.output_tokens,
        cache_read_tokens=used.cache_read_tokens,
        cache_write_tokens=written,
        cache_write_1h_tokens=used.cache_write_1h_tokens,
        web_searches=used.web_searches,
    )
    when = _EPOCH + timedelta(milliseconds=parse_time(str(used.ts)))
    tier = used.service_tier or ""
    context = {_TIERS[tier]: tier} if tier in _TIERS else None
    context = {"processing": "batch"} if tier == "batch" else context
    model = str(used.model)
    found = calc_price(
        asked,
        model,
        provider_id=provider,
        genai_request_timestamp=when,
        price_context=context,
    )
    return found.total_price


def rounded(dollars: Decimal) -> int:
    return int((dollars * 1_000_000).quantize(Decimal(1), ROUND_HALF_UP))
