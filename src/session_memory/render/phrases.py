"""Costs, tokens and turns as short phrases, the same on every surface."""

from typing import TYPE_CHECKING

from session_memory.pricing import Amount
from session_memory.pricing import shown as money
from session_memory.render.text import safe
from session_memory.views.figures import count, duration, plural, size, told
from session_memory.views.transcript import SessionStart, TurnTotals

if TYPE_CHECKING:
    from session_memory.core.schema import Cost
    from session_memory.views.payloads import Image


def token_words(cost: "Cost") -> str:
    """``98 in, 843 out, cache 194k read, 15k written``."""
    if not (cost.input_tokens or cost.output_tokens or cost.cache_tokens or cost.web_searches):
        return "its log tells of none"
    cache = f"cache {told(cost.cache_read_tokens)} read, {told(cost.cache_write_tokens)} written"
    extra = f", {plural(cost.web_searches, 'web search', 'web searches')}"
    words = f"{told(cost.input_tokens)} in, {told(cost.output_tokens)} out, {cache}"
    return f"{words}{extra if cost.web_searches else ''}"


def subagent_words(item: SessionStart) -> str:
    tokens = f"{told(item.session.cost.output_tokens)} tokens out"
    return f"{tokens}, {money(item.total)}" if item.total != Amount() else tokens


def cost_words(item: SessionStart) -> str:
    """``$0.12 with subagents, $0.10 without``; empty where nothing was used."""
    if item.total == Amount():
        return ""
    if item.own == Amount():
        return f"{money(item.total)}, all of it by subagents"
    if money(item.total) == money(item.own):
        return money(item.own)
    return f"{money(item.total)} with subagents, {money(item.own)} without"


def turn_words(turn: TurnTotals) -> str:
    cost = turn.cost
    words = [f"turn {turn.number}"] if turn.number else []
    if turn.seconds is not None:
        words.append(duration(turn.seconds))
    words.append(f"{told(cost.output_tokens)} tokens out")
    if cost.cache_tokens:
        words.append(f"{count(cost.cache_tokens)} cached")
    if turn.amount != Amount():
        words.append(money(turn.amount))
    return " · ".join(words)


def image_words(image: "Image") -> str:
    kind = safe(image.media_type[:100])
    return f"image: {kind}, {size(image.bytes)}" if image.bytes else f"image: {kind}"
