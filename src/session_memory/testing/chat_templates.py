"""Render rows of training data with the chat templates of models, and check the result.

A row is rendered correctly if the template raises nothing, every text of a person and every result
of a call is in the output, and the arguments of calls are objects, not quoted texts.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import nodes
from jinja2.exceptions import TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

Row = dict[str, Any]
MOST_ROWS = 60
_WORD = re.compile(r"[A-Za-z]{5,}")
_TWICE = re.compile(r'"(?:arguments|parameters)":\s*"\{')
_PROBE_WORDS = ("probed_tool", "probed_argument", "probed_value", "probed_result")
_PROBE: list[Row] = [
    {"role": "user", "content": "hi"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "probe0001",
                "type": "function",
                "function": {
                    "name": "probed_tool",
                    "arguments": {"probed_argument": "probed_value"},
                },
            }
        ],
    },
    {
        "role": "tool",
        "name": "probed_tool",
        "tool_call_id": "probe0001",
        "content": "probed_result",
    },
]


class Generation(Extension):
    """The Jinja tag ``{% generation %}``, which marks what the model writes. Here it only renders
    its contents."""

    tags = {"generation"}

    def parse(self, parser: Any) -> Any:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


def environment() -> ImmutableSandboxedEnvironment:
    """Return a Jinja environment like the one that libraries for language models use."""
    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, Generation]
    )
    made.filters["tojson"] = _as_json
    made.globals["raise_exception"] = _refuse
    made.globals["strftime_now"] = datetime(2026, 1, 1, tzinfo=UTC).strftime
    return made


def supports_tools(text: str) -> bool:
    """Whether a template renders a call and its result, in the form that transformers documents.

    This is the test of ``trl.chat_template_utils.supports_tool_calling``: the name of the tool, the
    argument and the result must be in the output. TRL's fallback for templates that fail because
    the arguments are an object is left out.
    """
    try:
        shown = environment().from_string(text).render(messages=_PROBE, bos_token="", eos_token="")
    except (TemplateError, TypeError, ValueError, KeyError):
        return False
    return all(word in shown for word in _PROBE_WORDS)


def _as_json(value: Any, ensure_ascii: bool = False, **how: Any) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, **how)


def _refuse(message: str) -> None:
    raise TemplateError(message)


def conversations(row: Row) -> Iterator[list[Row]]:
    """Yield the conversations in a row of training data of any kind."""
    if "messages" in row:
        yield row["messages"]
    for answer in ("completion", "chosen", "rejected"):
        if answer in row:
            yield [*row["prompt"], *row[answer]]


def wrong(template: Any, messages: list[Row], tools: list[Row]) -> str | None:
    """Return what is wrong with a conversation that ``template`` renders; None if nothing is."""
    try:
        text = template.render(
            messages=messages,
            tools=tools or None,
            add_generation_prompt=False,
            bos_token="<s>",
            eos_token="</s>",
        )
    except (TemplateError, TypeError, ValueError, KeyError) as error:
        return f"raises {type(error).__name__}: {str(error)[:80]}"
    for message in messages:
        content = message["content"].strip()
        if message["role"] in ("user", "tool") and content and content[:200] not in text:
            is_escaped = json.dumps(content[:100], ensure_ascii=False)[1:-1] in text
            if not is_escaped:
                return f"lacks a text of the role {message['role']}"
        for call in message.get("tool_calls", ()):
            if reason := _wrong_call(call["function"], text):
                return reason
    return None


def _wrong_call(function: Row, text: str) -> str | None:
    if function["name"] not in text:
        return "lacks the name of a tool"
    if _TWICE.search(text):
        return "quotes the arguments twice"
    for name, value in function["arguments"].items():
        # Templates quote texts in different ways, so only words are compared.
        words = _WORD.findall(str(value)[:200]) if isinstance(value, str) else []
        if name not in text or any(word not in text for word in words):
            return "lacks an argument"
    return None


def rows_in(data: Path) -> list[Row]:
    found = []
    for path in sorted(data.glob("*/*.jsonl")):
        found += [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return found


def rendered(data: Path, templates: dict[str, str]) -> dict[str, str | None]:
    """Return for each template the first thing that is wrong with the rows in ``data``, or None.

    ``templates`` maps names to texts of templates.
    """
    made, rows = environment(), rows_in(data)
    step = max(1, len(rows) // MOST_ROWS)
    found: dict[str, str | None] = {}
    for name, text in templates.items():
        template = made.from_string(text)
        reasons = (
            wrong(template, messages, row.get("tools", []))
            for row in rows[::step]
            for messages in conversations(row)
        )
        found[name] = next((reason for reason in reasons if reason is not None), None)
    return found
