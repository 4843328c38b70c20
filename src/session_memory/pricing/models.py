"""Match a model name from a log with a model of the price table.

Agents write one model in many ways: with a date, with ``[1m]``, with a provider in front, in the
spelling of Bedrock or Vertex. A name in lower case and without brackets is read in several ways,
each with a provider and the provider's spelling. The first way that the price table knows counts.
The ``rule`` names it, for audits. A name that no way matches has no price.
"""

from collections.abc import Iterator
from typing import NamedTuple

from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.derive.agents import about
from session_memory.pricing.table import PricedModel, PriceTable, Provider

# The prefix of a model name ("openai/…") names the provider that charges for it.
_ROUTES = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openai-codex": "openai",
    "xai": "x-ai",
    "x-ai": "x-ai",
    "google": "google",
    "gemini": "google",
    "vertex": "google",
    "vertex_ai": "google",
    "google-vertex": "google",
    "bedrock": "aws",
    "amazon-bedrock": "aws",
    "aws": "aws",
    "azure": "azure",
    "azure_ai": "azure",
    "deepseek": "deepseek",
    "mistral": "mistral",
    "mistralai": "mistral",
    "moonshot": "moonshotai",
    "moonshotai": "moonshotai",
    "minimax": "minimax",
    "zai": "zai",
    "z-ai": "zai",
    "cohere": "cohere",
    "groq": "groq",
    "cerebras": "cerebras",
    "fireworks": "fireworks",
    "fireworks_ai": "fireworks",
    "together": "together",
    "together_ai": "together",
    "github_copilot": "github-copilot",
    "github-copilot": "github-copilot",
    "copilot": "github-copilot",
    "cursor": "cursor",
}
# Agents that sell other providers' models at their own prices.
_RESELLERS = {"copilot": "github-copilot", "cursor": "cursor"}
_BRACKETS = lazy_pattern(r"\[[^\[\]]{0,16}\]$")
_BEDROCK = lazy_pattern(r"\banthropic\.claude|^arn:aws")
_VERTEX = lazy_pattern(r"claude[^@]*@|@.*claude")
_COMPACT_DATE = lazy_pattern(r"-(20\d{2})(0[1-9]|1[0-2])([0-2]\d|3[01])(?=-|:|$)")
_DATE = lazy_pattern(r"[-@](?:20\d{6}|20\d{2}-\d{2}-\d{2})$")
LONGEST = 256


class MatchedModel(NamedTuple):
    """A model of the price table, with its provider. ``rule`` says how the name was matched."""

    provider: Provider
    model: PricedModel
    rule: str


def match_model(table: PriceTable, flavor: str, name: str) -> MatchedModel | None:
    """Return the model of the price table for a name in a log of ``flavor``; None if unknown."""
    if len(name) > LONGEST:
        return None
    plain = _BRACKETS.sub("", name.strip().lower())
    for provider_id, spelled, rule in _readings(table, flavor, plain):
        found = _found(table, table.by_id[provider_id], spelled)
        if found is not None:
            return MatchedModel(*found, rule)
    return None


def _readings(table: PriceTable, flavor: str, name: str) -> Iterator[tuple[str, str, str]]:
    """Yield the ways to read a name, most likely first: ``(provider, spelling, rule)``."""
    route, slash, rest = name.partition("/")
    if slash and route == "openrouter":
        yield "openrouter", rest, "sent by openrouter"
    elif slash and route in _ROUTES:
        yield _ROUTES[route], rest, f"{route}/ in front"
        yield "openrouter", name, "as openrouter spells it"
        yield from _spelled(table, flavor, rest.rpartition("/")[2])
        return
    if _BEDROCK.search(name):
        yield "aws", name.rpartition("/")[2], "as Bedrock spells it"
        yield from _spelled(table, flavor, name.rpartition("anthropic.")[2])
        return
    if _VERTEX.search(name):
        yield "google", name, "as Vertex spells it"
    yield from _spelled(table, flavor, name.rpartition("/")[2] if route == "openrouter" else name)


def _spelled(table: PriceTable, flavor: str, name: str) -> Iterator[tuple[str, str, str]]:
    if flavor in _RESELLERS:
        yield _RESELLERS[flavor], name, f"sold by {flavor}"
    makers = [provider.id for provider in table.makers(name)]
    for provider_id in makers:
        yield provider_id, name, "by its name"
    home = about(flavor).provider
    if home is not None and home not in makers:
        yield home, name, f"at home in {flavor}"
    undated = _DATE.sub("", name)
    for provider_id in dict.fromkeys((*makers, *([home] if home else ()))):
        if undated != name:
            yield provider_id, undated, "without its date"


def _found(table: PriceTable, provider: Provider, name: str) -> tuple[Provider, PricedModel] | None:
    """Return the model with this name, and the provider whose price counts.

    That is ``provider``, or the maker of the model if ``provider`` only serves it.
    """
    dashed = _COMPACT_DATE.sub(r"-\1-\2-\3", name)
    for spelled in dict.fromkeys((name, dashed)):
        if model := provider.model(spelled):
            return provider, model
        for other in (table.by_id[served] for served in provider.serves):
            if model := other.model(spelled):
                return other, model
    return None
