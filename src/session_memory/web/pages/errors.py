"""The page that shows how an error was resolved before, as ``session-memory fix`` does."""

from typing import Any

from starlette.responses import Response

from session_memory.core.time import now_ms
from session_memory.render.code import Colours
from session_memory.views.figures import age
from session_memory.views.fixes import FixStep, Remedy
from session_memory.web.asked import Asked
from session_memory.web.markup import code
from session_memory.web.rows import event_address
from session_memory.web.transcript_rows import ShownDiff, shown_diff

LONGEST = 4000
MOST_COLOURED = 64 * 1024


def errors(asked: Asked) -> Response:
    text = asked.query.get("q", "").strip()[:LONGEST]
    found = asked.memory.fix(text, limit=8) if text else None
    colours = Colours(MOST_COLOURED)
    return asked.page(
        "errors",
        text=text,
        basis=found.basis if found else "",
        remedies=[_shown(one, colours) for one in found.remedies] if found else [],
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


def _diff(step: FixStep, colours: Colours) -> ShownDiff:
    signs = [line[:1] for line in step.lines]
    path = step.path or ""
    return shown_diff(path, path, (signs.count("+"), signs.count("-")), step.lines, colours)


def _shown(one: Remedy, colours: Colours) -> dict[str, Any]:
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
                "what": step.tool or "this step",
                "text": code(step.text, "bash", colours),
                "diff": _diff(step, colours) if step.lines else None,
                "address": event_address(one.session_uid, step.event_uid),
            }
            for step in one.steps[:4]
        ],
    }
