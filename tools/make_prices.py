"""Makes ``src/session_memory/pricing/prices.json`` out of the data of genai-prices.

    pip install --upgrade genai-prices
    python tools/make_prices.py            # write the table and say what changed
    python tools/make_prices.py --check    # say whether the table is the installed version's

genai-prices (MIT, https://github.com/pydantic/genai-prices) keeps prices as rules; here its own
code resolves them, once for every date, hour and tier at which one begins, into plain rows of
integers. The package itself needs neither genai-prices nor a network.
"""

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import (
    ClauseAnd,
    ClauseContains,
    ClauseEndsWith,
    ClauseEquals,
    ClauseOr,
    ClauseRegex,
    ClauseStartsWith,
    ModelInfo,
    ModelPrice,
    Provider,
    StartDateConstraint,
    TieredPrices,
)

TARGET = Path(__file__).parent.parent / "src" / "session_memory" / "pricing" / "prices.json"
# Whoever a coding agent can be pointed at. Others only repeat these models under their own names.
PROVIDERS = (
    *("anthropic", "openai", "x-ai", "google", "aws", "azure", "deepseek", "mistral", "moonshotai"),
    *("minimax", "zai", "zhipuai", "cohere", "meta", "cursor", "github-copilot", "groq"),
    *("cerebras", "fireworks", "together", "openrouter"),
)
PICODOLLARS = 1_000_000  # One dollar for a million tokens, as picodollars for a token.
DAY_MS = 86_400_000
STANDARD = ""
# What a log's tier or speed is called, and the context in which genai-prices knows its prices.
TIERS = {
    "flex": {"service_tier": "flex"},
    "priority": {"service_tier": "priority"},
    "fast": {"service_tier": "fast"},
    "batch": {"processing": "batch"},
}
UNITS = ("input_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok", "output_mtok")
# A price of these makes the others only a part of what a request costs.
BEYOND_TOKENS = ("requests_kcount", "output_reasoning_mtok", "output_citation_mtok")

Row = list[Any]


def table() -> dict[str, Any]:
    providers = {provider.id: provider for provider in get_snapshot().providers}
    fast = fast_factors(providers["openrouter"], providers["anthropic"])
    made = [compiled(providers[name], fast) for name in PROVIDERS]
    return {"source": f"genai-prices {version('genai-prices')}", "providers": made}


def compiled(provider: Provider, fast: dict[str, Decimal]) -> dict[str, Any]:
    models = [
        model
        for found in provider.models
        if (model := compiled_model(found, fast if provider.id == "anthropic" else {}))
    ]
    return {
        "id": provider.id,
        "match": pattern(provider.model_match) if provider.model_match else "",
        "serves": [name for name in provider.fallback_model_providers or () if name in PROVIDERS],
        "models": models,
    }


def compiled_model(model: ModelInfo, fast: dict[str, Decimal]) -> dict[str, Any] | None:
    rows = rows_of(model, {})
    if not rows:
        return None
    tiers = {STANDARD: rows}
    for tier, context in TIERS.items():
        if (special := rows_of(model, context)) != rows:
            tiers[tier] = special
    if factor := fast.get(model.id):
        tiers["fast"] = [faster(row, factor) for row in rows]
    exact, rest = names(model.match)
    return {"id": model.id, "is": exact, "match": rest, "rows": tiers}


# ---------------------------------------------------------------- prices


def rows_of(model: ModelInfo, context: dict[str, str]) -> list[Row]:
    """``[from day, from ms of the day, to ms of the day, above so many tokens, *prices, search]``.

    In the order of time; together they cover every moment and every size once.
    """
    rows: list[Row] = []
    for day in days(model):
        for begin, end in pairwise(hours(model)):
            moment = datetime.combine(day or date(2020, 1, 1), time(), UTC)
            price = model.get_prices(moment + timedelta(milliseconds=begin), context or None)
            if not is_token_price(price):
                return []
            rows += [[str(day or ""), begin, end, *band] for band in bands(price)]
    return without_repetition(rows)


def is_token_price(price: ModelPrice) -> bool:
    has_more = any(getattr(price, unit) is not None for unit in BEYOND_TOKENS)
    return price.input_mtok is not None and not has_more


def days(model: ModelInfo) -> list[date | None]:
    """When a price begins; ``None`` for the time before any."""
    rules = [
        *(model.prices if isinstance(model.prices, list) else ()),
        *(model.price_variants or ()),
    ]
    starts = {
        rule.constraint.start_date
        for rule in rules
        if isinstance(rule.constraint, StartDateConstraint)
    }
    return [None, *sorted(starts)]


def hours(model: ModelInfo) -> list[int]:
    """The milliseconds of a day at which a price begins or ends, midnights included."""
    found = {0, DAY_MS}
    for rule in [
        *(model.prices if isinstance(model.prices, list) else ()),
        *(model.price_variants or ()),
    ]:
        if rule.constraint is not None and not isinstance(rule.constraint, StartDateConstraint):
            for moment in (rule.constraint.start_time, rule.constraint.end_time):
                shift = (moment.utcoffset() or timedelta()).total_seconds()
                seconds = moment.hour * 3600 + moment.minute * 60 + moment.second - shift
                found.add(int(seconds * 1000) % DAY_MS)
    return sorted(found)


def bands(price: ModelPrice) -> Iterator[Row]:
    """One row for each size of context from which another price holds."""
    tiered = [value for unit in UNITS if isinstance(value := getattr(price, unit), TieredPrices)]
    starts = sorted({0, *(tier.start + 1 for value in tiered for tier in value.tiers)})
    fee = price.web_searches_kcount
    search = None if fee is None else picodollars(fee * 1000)
    for start in starts:
        given, read, write, hour, out = (at(getattr(price, unit), start) for unit in UNITS)
        # What has no price of its own is what it is a part of.
        read = given if read is None else read
        write = given if write is None else write
        hour = write if hour is None else hour
        prices = [given, read, write, hour, out or Decimal(0)]
        yield [start, *(picodollars(price) for price in prices if price is not None), search]


def at(price: Decimal | TieredPrices | None, size: int) -> Decimal | None:
    if not isinstance(price, TieredPrices):
        return price
    reached = [tier.price for tier in price.tiers if size > tier.start]
    return reached[-1] if reached else price.base


def picodollars(per_million: Decimal) -> int:
    return int((per_million * PICODOLLARS).quantize(Decimal(1), ROUND_HALF_UP))


def without_repetition(rows: list[Row]) -> list[Row]:
    """Days whose rows say the same as the day's before are left out."""
    by_day: dict[str, list[Row]] = {}
    for row in rows:
        by_day.setdefault(row[0], []).append(row)
    kept: list[Row] = []
    before: list[Row] = []
    for day_rows in by_day.values():
        said = [row[1:] for row in day_rows]
        if said != before:
            kept += day_rows
        before = said
    return kept


def fast_factors(router: Provider, maker: Provider) -> dict[str, Decimal]:
    """By what a Claude model's fast mode is dearer.

    Its maker's prices do not list it, the router's do, as models of their own that pass the
    maker's prices through. Every bucket must be dearer by the same factor.
    """
    found: dict[str, Decimal] = {}
    for model in router.models:
        if named := re.fullmatch(r"anthropic/(claude-.+)-fast", model.id):
            usual = maker.find_model(named[1])
            if usual is None or not isinstance(model.prices, ModelPrice):
                raise SystemExit(f"no usual price for {model.id}")
            today = usual.get_prices(datetime.now(UTC))
            factors = {
                getattr(model.prices, unit) / getattr(today, unit)
                for unit in UNITS
                if getattr(model.prices, unit) is not None
            }
            if len(factors) != 1:
                raise SystemExit(f"{model.id} is dearer by {factors}: not by one factor")
            found[usual.id] = factors.pop()
    return found


def faster(row: Row, factor: Decimal) -> Row:
    """Tokens are dearer, a web search is not."""
    prices = [int(price * factor) for price in row[4:-1]]
    return [*row[:4], *prices, row[-1]]


# ---------------------------------------------------------------- names


def names(clause: Any) -> tuple[list[str], str]:
    """The names a model is known by exactly, and a pattern for the others."""
    clauses = clause.or_ if isinstance(clause, ClauseOr) else [clause]
    exact = [part.equals.lower() for part in clauses if isinstance(part, ClauseEquals)]
    rest = [pattern(part) for part in clauses if not isinstance(part, ClauseEquals)]
    return list(dict.fromkeys(exact)), "|".join(rest)


def pattern(clause: Any) -> str:
    """A regular expression to search a name in small letters with."""
    match clause:
        case ClauseStartsWith():
            return f"^{re.escape(clause.starts_with.lower())}"
        case ClauseEndsWith():
            return f"{re.escape(clause.ends_with.lower())}$"
        case ClauseContains():
            return re.escape(clause.contains.lower())
        case ClauseEquals():
            return f"^{re.escape(clause.equals.lower())}$"
        case ClauseRegex():
            return f"(?:{clause.regex})"
        case ClauseOr():
            return "|".join(pattern(part) for part in clause.or_)
        case ClauseAnd():
            return "^" + "".join(f"(?=.*(?:{pattern(part)}))" for part in clause.and_)
    raise SystemExit(f"unknown clause {clause!r}")


# ---------------------------------------------------------------- the file


def text(made: dict[str, Any], today: str) -> str:
    """One model on a line, so that a new version can be read as a diff."""
    body = ",\n".join(provider_text(provider) for provider in made["providers"])
    digest = hashlib.sha256(body.encode()).hexdigest()
    head = {"source": made["source"], "made": today, "digest": digest}
    return f'{json.dumps(head)[:-1]}, "providers": [\n{body}\n]}}\n'


def provider_text(provider: dict[str, Any]) -> str:
    head = {name: value for name, value in provider.items() if name != "models"}
    models = ",\n".join(json.dumps(model, separators=(",", ":")) for model in provider["models"])
    return f'{json.dumps(head)[:-1]}, "models": [\n{models}\n]}}'


def differences(old: Iterable[str], new: Iterable[str]) -> Iterator[str]:
    before, after = set(old), set(new)
    yield from sorted(f"- {line[:120]}" for line in before - after)
    yield from sorted(f"+ {line[:120]}" for line in after - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="write nothing, fail if it differs")
    given = parser.parse_args()
    old = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
    new = text(table(), str(datetime.now(UTC).date()))
    changed = list(differences(old.splitlines()[1:], new.splitlines()[1:]))
    if given.check:
        sys.exit("\n".join(changed) if changed else 0)
    if changed:
        TARGET.write_text(new, encoding="utf-8")
    print("\n".join(changed[:40]))
    print(f"{len(changed)} lines differ; {len(new):,} bytes")


if __name__ == "__main__":
    main()
