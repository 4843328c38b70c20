"""One model has many spellings, and a name that means nothing has no price."""

import pytest

from session_memory.pricing.models import LONGEST, match_model
from session_memory.pricing.rates import UsageKind, rates_of
from session_memory.pricing.table import price_table


def meant(name: str, flavor: str = "claude") -> tuple[str, str] | None:
    found = match_model(price_table(), flavor, name)
    return None if found is None else (found.provider.id, found.model.id)


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("claude-opus-4-6", "anthropic", "claude-opus-4-6"),
        ("Claude-Opus-4-6", "anthropic", "claude-opus-4-6"),
        ("claude-opus-4-6[1m]", "anthropic", "claude-opus-4-6"),
        ("claude-opus-5[1m]", "anthropic", "claude-opus-5"),
        (" gpt-5.5[1M] ", "openai", "gpt-5.5"),
        ("claude-haiku-4-5-20251001", "anthropic", "claude-haiku-4-5"),
        ("claude-opus-5-20260723", "anthropic", "claude-opus-5"),
        ("anthropic/claude-sonnet-4.5", "anthropic", "claude-sonnet-4-5"),
        ("openrouter/anthropic/claude-sonnet-4.5", "openrouter", "anthropic/claude-sonnet-4.5"),
        (
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "aws",
            "regional.anthropic.claude-sonnet-4-5-20250929-v1:0",
        ),
        (
            "bedrock/global.anthropic.claude-opus-4-6-v1",
            "aws",
            "global.anthropic.claude-opus-4-6-v1:0",
        ),
        (
            "arn:aws:bedrock:eu-west-1:1:inference-profile/"
            "eu.anthropic.claude-haiku-4-5-20251001-v1:0",
            "aws",
            "regional.anthropic.claude-haiku-4-5-20251001-v1:0",
        ),
        ("claude-sonnet-4-5@20250929", "google", "claude-sonnet-4-5"),
        ("vertex_ai/claude-opus-4-6", "google", "claude-opus-4-6"),
        ("azure/gpt-5.5", "openai", "gpt-5.5"),
        ("gpt-5.5-codex", "openai", "gpt-5.5"),
        ("gpt-5.4-20260305", "openai", "gpt-5.4"),
        ("gpt-5.5-2031-01-01", "openai", "gpt-5.5"),
        ("openai/gpt-5.5", "openai", "gpt-5.5"),
        ("grok-4.5", "x-ai", "grok-4.5"),
        ("xai/grok-4.5", "x-ai", "grok-4.5"),
        ("deepseek-chat", "deepseek", "deepseek-chat"),
    ],
)
def test_a_spelling_means_a_model(name: str, provider: str, model: str) -> None:
    assert meant(name) == (provider, model)


@pytest.mark.parametrize(
    "name",
    [
        *("", " ", "opus", "mock-grok", "claude-next-9", "unknown", "gpt", "gpt-99", "/", "[1m]"),
        *("openrouter/", "anthropic/", "bedrock/", "-20260101", "@", "claude-opus-5-9\x1b[31m"),
        "claude-opus-4-6" + "x" * LONGEST,
    ],
)
def test_a_name_that_means_nothing_has_no_price(name: str) -> None:
    assert meant(name) is None
    (rate,) = rates_of(price_table(), {}, [UsageKind("claude", name)])
    assert rate.price is None
    assert rate.words == "no price"


def test_copilot_charges_its_own_prices() -> None:
    assert meant("claude-haiku-4.5", "copilot") == ("github-copilot", "claude-haiku-4.5")
    assert meant("claude-haiku-4.5", "claude") == ("anthropic", "claude-haiku-4-5")
    assert meant("gpt-5-codex", "copilot") is not None


def test_a_rate_says_where_it_comes_from() -> None:
    kind = UsageKind("claude", "claude-opus-4-6", speed="fast")
    words = [rate.words for rate in rates_of(price_table(), {}, [kind])]
    assert words == [
        "anthropic/claude-opus-4-6, by its name, fast",
        "anthropic/claude-opus-4-6, by its name, fast, context of 200,001 tokens and more",
        "anthropic/claude-opus-4-6, by its name, fast, since 2026-03-13",
    ]
    hours = [rate.words for rate in rates_of(price_table(), {}, [UsageKind("pi", "deepseek-chat")])]
    assert hours[1] == "deepseek/deepseek-chat, by its name, 00:30-16:30 UTC"
