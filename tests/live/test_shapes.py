"""A message in either shape, whichever it was appended in."""

from typing import Any

import pytest

from session_memory.live.blocks import calls_in, results_in, text_of
from session_memory.live.rows import MessageRow
from session_memory.live.shapes import SHAPES, as_blocks, as_chat, in_shape

CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"a": 1}'}}
USE = {"type": "tool_use", "id": "c1", "name": "ls", "input": {"a": 1}}


def row(role: str = "user", **fields: Any) -> MessageRow:
    return MessageRow("s", 1, role, **fields)


def result(call_id: str, text: str) -> dict[str, Any]:
    fields = {"model_text": text, "display_text": text, "is_error": False}
    return {"type": "tool_result", "tool_use_id": call_id, **fields}


@pytest.mark.parametrize(
    ("message", "blocks", "chat"),
    [
        (
            row(content="hello"),
            {"role": "user", "content": [{"type": "text", "text": "hello"}]},
            [{"role": "user", "content": "hello"}],
        ),
        (
            row("assistant", content="look:", tool_calls=[CALL]),
            {"role": "assistant", "content": [{"type": "text", "text": "look:"}, USE]},
            [{"role": "assistant", "content": "look:", "tool_calls": [CALL]}],
        ),
        (
            row("assistant", content=[USE]),
            {"role": "assistant", "content": [USE]},
            [{"role": "assistant", "content": None, "tool_calls": [CALL]}],
        ),
        (
            row("tool", content="files", tool_call_id="c1"),
            {"role": "user", "content": [result("c1", "files")]},
            [{"role": "tool", "content": "files", "tool_call_id": "c1"}],
        ),
        (
            row(content=[result("c1", "a"), result("c2", "b"), {"type": "text", "text": "next"}]),
            {
                "role": "user",
                "content": [result("c1", "a"), result("c2", "b"), {"type": "text", "text": "next"}],
            },
            [
                {"role": "tool", "content": "a", "tool_call_id": "c1"},
                {"role": "tool", "content": "b", "tool_call_id": "c2"},
                {"role": "user", "content": "next"},
            ],
        ),
        (
            row("assistant", content=[{"type": "thinking", "text": "hm"}]),
            {"role": "assistant", "content": [{"type": "thinking", "text": "hm"}]},
            [{"role": "assistant", "content": None, "reasoning_content": "hm"}],
        ),
        (
            row(content=[{"type": "image", "data": "QQ==", "mime_type": "image/png"}]),
            {
                "role": "user",
                "content": [{"type": "image", "data": "QQ==", "mime_type": "image/png"}],
            },
            [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "image_url",
                            "image_url": {"url": "data:image/png;base64,QQ=="},
                        }
                    ],
                }
            ],
        ),
        (
            row("system", name="compact_note", content="so far", meta={"from_seq": 1}),
            {
                "role": "system",
                "content": [{"type": "text", "text": "so far"}],
                "name": "compact_note",
                "meta": {"from_seq": 1},
            },
            [
                {
                    "role": "system",
                    "content": "so far",
                    "name": "compact_note",
                    "meta": {"from_seq": 1},
                }
            ],
        ),
        (row(), {"role": "user", "content": []}, [{"role": "user", "content": None}]),
    ],
)
def test_a_message_has_both_shapes(message: MessageRow, blocks: Any, chat: Any) -> None:
    assert as_blocks(message) == blocks
    assert [without_blanks(one) for one in as_chat(message)] == [
        without_blanks(one) for one in chat
    ]


def without_blanks(message: dict[str, Any]) -> dict[str, Any]:
    """Arguments are text; how it is spaced means nothing."""
    return {
        **message,
        "tool_calls": str(message.get("tool_calls")).replace(" ", ""),
    }


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "message",
    [
        row("assistant", content="look:", tool_calls=[CALL]),
        row("assistant", content=[{"type": "text", "text": "look:"}, USE]),
        row("tool", content="files", tool_call_id="c1"),
        row(content=[result("c1", "a"), {"type": "text", "text": "next"}]),
    ],
)
def test_a_change_of_shape_keeps_words_calls_and_answers(shape: str, message: MessageRow) -> None:
    found = [MessageRow("s", 1, **one) for one in in_shape(message, shape)]
    assert [c.call_id for one in found for c in calls_in(one)] == [
        call.call_id for call in calls_in(message)
    ]
    assert [r for one in found for r in results_in(one)] == list(results_in(message))
    if not message.tool_call_id:
        assert text_of(message.content) in [text_of(one.content) for one in found]
