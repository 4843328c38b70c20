"""How an error was resolved before: the question of ``session-memory fix``."""

from typing import Any

from starlette.responses import Response

from session_memory.core.time import now_ms
from session_memory.views.figures import age
from session_memory.views.fixes import Remedy
from session_memory.web.asked import Asked
from session_memory.web.markup import lines
from session_memory.web.rows import event_address

LONGEST = 4000


def errors(asked: Asked) -> Response:
    text = asked.query.get("q", "").strip()[:LONGEST]
    found = asked.memory.fix(text, limit=8) if text else None
    return asked.page(
        "errors",
        text=text,
        basis=found.basis if found else "",
        remedies=[_shown(one) for one in found.remedies] if found else [],
        mentions=[
            {
                "text": hit.snippet.text,
                "marks": [tuple(mark) for mark in hit.snippet.marks],
                "address": event_address(hit.session_uid, hit.event_uid or ""),
            }
            for hit in found.mentions
            if hit.event_uid
        ]
        if found
        else [],
    )


def _shown(one: Remedy) -> dict[str, Any]:
    return {
        "error": one.error,
        "address": event_address(one.session_uid, one.error_event),
        "title": one.title or one.name,
        "facts": " · ".join(
            part for part in (one.flavor, one.repo or "", age(one.ended_at, now_ms())) if part
        ),
        "certainty": one.certainty,
        "is_resolved": one.kind is not None,
        "text": one.text,
        "said": one.said,
        "steps": [
            {
                "what": f"{step.tool or ''} {step.path or ''}".strip(),
                "text": lines(step.text),
                "lines": lines("\n".join(step.lines)),
                "has_lines": bool(step.lines),
                "address": event_address(one.session_uid, step.event_uid),
            }
            for step in one.steps[:4]
        ],
    }
