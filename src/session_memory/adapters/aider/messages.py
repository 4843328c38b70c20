"""Translate the messages in an aider history into events, and its reports of tokens into usage."""

import re
from decimal import Decimal

from session_memory.adapters.base import NativeEvent, NativeUsage, Record
from session_memory.adapters.reported_costs import microdollars
from session_memory.adapters.token_counts import without
from session_memory.adapters.tool_calls import call_event
from session_memory.core.text import one_line

_COUNT = r"(\d[\d.]*)(k?)"
_TOKENS = re.compile(
    rf"Tokens: {_COUNT} sent(?:, {_COUNT} cache write)?(?:, {_COUNT} cache hit)?,"
    rf" {_COUNT} received\."
)
_COST = re.compile(r"Cost: \$(\d[\d.]*) message")
_MODEL = re.compile(r"(?:Main model|Models?): (\S+) with ")
_VERSION = re.compile(r"Aider v(\S+)\Z")
_APPLIED = re.compile(r"Applied edit to (.+)\Z")
_RUNNING = re.compile(r"Running (.+)\Z")
_ASKED = re.compile(r"\(Y\)es/\(N\)o.*\]: (\S*)\Z")
_TESTS_FAILED = re.compile(r"Attempt to fix (test|lint) errors\?")
_FAILED = re.compile(
    r"litellm\.\w*(?:Error|Exception)|The LLM did not conform to the edit format"
    r"|# \d+ SEARCH/REPLACE blocks? failed to match|Unable to (?:commit|create)"
    r"|Exception while updating files|Empty response received from LLM"
    r"|(?:Error|Traceback)\b"
)
_LONGEST_NAME = 200
_STOPPED = re.compile(r"\^C (?:again to exit|KeyboardInterrupt)")


def prompt(text: str, record: Record) -> None:
    """Add the event of what a person typed.

    A command (``/add``, ``!ls``) is no prompt. If a command asks the model (``/ask``, ``/code``),
    aider logs its words again as a prompt.
    """
    if text.startswith(("/", "!")):
        kind = text.split(maxsplit=1)[0]
        event = NativeEvent("lifecycle", "user", one_line(text), f"command/{one_line(kind, 40)}")
        event.body = text
    else:
        event = NativeEvent("user_msg", "user", one_line(text), "prompt", is_prompt=True)
        event.text = text
    record.events.append(event)


def answer(text: str, model: str) -> NativeEvent:
    event = NativeEvent("assistant_msg", "assistant", one_line(text), "answer", body=text)
    event.model, event.ends_turn = model or None, True
    return event


def model_in(text: str) -> str:
    """Return the model that a line of aider announces; "" if the line names no model."""
    named = _MODEL.match(text)
    return named[1][:_LONGEST_NAME] if named else ""


def is_report(text: str) -> bool:
    return _TOKENS.match(text) is not None


def tokens_used(text: str, record: Record, model: str, number: int) -> None:
    """Set the usage of a record from aider's report: the tokens of a response, and their cost.

    ``number`` is the number of the report in its session.
    """
    record.bookkeeping = "tokens"
    if (used := _TOKENS.match(text)) is not None:
        record.usage = _usage(used, text, f"{record.session}@{number}", model)


def cost_of_tokens(tokens: str, text: str, record: Record, model: str, number: int) -> None:
    """Set the usage for a report whose second line has the cost.

    ``tokens`` is the first line, ``text`` the second. This usage has the same id as the usage of
    the first line alone, and replaces it.
    """
    tokens_used(f"{tokens} {text}", record, model, number)


def notice(text: str, record: Record) -> None:
    """Add the event of a line that aider writes and that is no report of tokens."""
    if not text:
        record.bookkeeping = "line"
        return
    if (version := _VERSION.match(text)) is not None:
        record.agent_version = version[1]
    if (applied := _APPLIED.match(text)) is not None:
        record.events.append(_edit(applied[1]))
    elif (command := _RUNNING.match(text)) is not None:
        record.events.append(_command(command[1], f"{record.session}@{record.offset}"))
    else:
        record.events.append(_other(text))


def _edit(path: str) -> NativeEvent:
    """Return the event of a change that aider applied. The model writes such a change into its
    answer and calls no tool."""
    text = f"Applied edit to {path}"
    return NativeEvent("edit", "assistant", one_line(text), "edit", path=path, body=text)


def _command(command: str, call: str) -> NativeEvent:
    """Return the call of a command that the model suggested and a person allowed. Its output is
    not in the log."""
    return call_event(call, "shell", {"command": command}, "command")


def _other(text: str) -> NativeEvent:
    if _STOPPED.match(text) is not None:
        return NativeEvent(
            "human_intervention", "user", one_line(text), "interrupt", is_interrupt=True, body=text
        )
    if _TESTS_FAILED.match(text) is not None or _FAILED.match(text) is not None:
        return NativeEvent("error", "system", one_line(text), "error", is_error=True, body=text)
    asked = _ASKED.search(text)
    if asked is not None and asked[1].lower() in ("n", "no"):
        # With --yes-always aider answers every question with yes, so a person typed this no.
        marks = ("decision",)
        return NativeEvent(
            "human_intervention", "user", one_line(text), "refused", marks=marks, body=text
        )
    return NativeEvent("lifecycle", "system", one_line(text), "info", body=text)


def _usage(used: re.Match[str], text: str, usage_id: str, model: str) -> NativeUsage:
    """Return the usage in a report.

    aider's "sent" includes the tokens read from the cache once, and the tokens written to it
    twice.
    """
    sent, written, read, received = (_count(used[n], used[n + 1]) for n in (1, 3, 5, 7))
    cost = _COST.search(text)
    return NativeUsage(
        usage_id,
        model or "unknown",
        input_tokens=without(sent, written, written, read),
        output_tokens=received,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reported_cost=microdollars(_number(cost[1])) if cost else None,
    )


def _count(digits: str | None, thousands: str | None) -> int:
    number = _number(digits or "0")
    return int(number * 1000) if thousands else int(number)


def _number(digits: str) -> Decimal:
    return Decimal(digits) if re.fullmatch(r"\d{1,15}(?:\.\d{0,15})?", digits) else Decimal(0)
