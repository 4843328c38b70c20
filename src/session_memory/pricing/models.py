"""Which model of the price table a name in a log means, and whose price it is.

Agents spell one model in many ways: with a date, with ``[1m]``, with the maker or the reseller in
front, as Bedrock or Vertex write it. A name is tried as it is first; every step away from it is a
``rule`` that an audit can show. What no step finds has no price.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from session_memory.derive.agents import about
from session_memory.pricing.table import Model, Provider, Table

# A route in front of the name says who sends the bill.
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
# Agents that bill what others' models use at prices of their own.
_RESELLERS = {"copilot": "github-copilot", "cursor": "cursor"}
_BRACKETS = re.compile(r"\[[^\[\]]{0,16}\]$")
_BEDROCK = re.compile(r"\banthropic\.claude|^arn:aws")
_VERTEX = re.compile(r"claude[^@]*@|@.*claude")
_COMPACT_DATE = re.compile(r"-(20\d{2})(0[1-9]|1[0-2])([0-2]\d|3[01])(?=-|:|$)")
_DATE = re.compile(r"[-@](?:20\d{6}|20\d{2}-\d{2}-\d{2})$")
LONGEST = 256


class Meant(NamedTuple):
    """The model of the table that a name means; ``rule`` says how it was found."""

    provider: Provider
    model: Model
    rule: str


def meant_model(table: Table, flavor: str, name: str) -> Meant | None:
    """Who charges for the model that ``flavor`` logs as ``name``, or nobody we know of."""
    if len(name) > LONGEST:
        return None
    plain = _BRACKETS.sub("", name.strip().lower())
    for provider_id, spelled, rule in _readings(table, flavor, plain):
        found = _found(table, table.by_id[provider_id], spelled)
        if found is not None:
            return Meant(*found, rule)
    return None


def _readings(table: Table, flavor: str, name: str) -> Iterator[tuple[str, str, str]]:
    """``(provider, name there, rule)``, likeliest first."""
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


def _spelled(table: Table, flavor: str, name: str) -> Iterator[tuple[str, str, str]]:
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


def _found(table: Table, provider: Provider, name: str) -> tuple[Provider, Model] | None:
    """The model at the provider, or the one it serves for another, by the latter's price."""
    dashed = _COMPACT_DATE.sub(r"-\1-\2-\3", name)
    for spelled in dict.fromkeys((name, dashed)):
        if model := provider.model(spelled):
            return provider, model
        for other in (table.by_id[served] for served in provider.serves):
            if model := other.model(spelled):
                return other, model
    return None
