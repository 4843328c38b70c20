"""The page that shows why a line of code is there, as ``session-memory why`` does."""

from itertools import groupby
from typing import Any

from starlette.responses import Response

from session_memory.core.errors import NoSuchLine
from session_memory.pricing import shown as money
from session_memory.views.figures import plural
from session_memory.views.short_names import short_names
from session_memory.views.why.answer import Why, WhySession
from session_memory.views.why.known_files import known_file
from session_memory.web.asked import Asked
from session_memory.web.rows import event_address, session_address

LONGEST_PATH = 4000
MOST_LINES = 1000
AROUND = 10


def why(asked: Asked) -> Response:
    path = asked.query.get("path", "")[:LONGEST_PATH]
    line = asked.number("line", most=1 << 30)
    if not path:
        return _page(asked, path, line)
    try:
        found = asked_for(asked, path, line, AROUND)
    except NoSuchLine as error:
        return _page(asked, path, line, refused=f"{error}. {error.hint or ''}")
    names = short_names(asked.memory.store, [one.session_uid for one in found.sessions])
    return _page(
        asked,
        path,
        line,
        runs=_runs(found, names, line),
        sessions=[_session(one, names) for one in found.sessions],
        alone=_alone(found),
        more=max(len(found.lines) - MOST_LINES, 0),
    )


def asked_for(asked: Asked, path: str, line: int, around: int = 0) -> Why:
    """Return who wrote a file that a session changed; with ``line``, only that line and ``around``
    lines before and after it."""
    place = known_file(asked.memory.store, path)
    if not line:
        return asked.memory.why(place)
    count = len(place.read_bytes().splitlines())
    return asked.memory.why(
        place,
        max(line - around, 1) if line <= count else line,
        min(line + around, max(count, line)),
    )


def _page(asked: Asked, path: str, line: int, **values: Any) -> Response:
    empty: dict[str, Any] = {"refused": "", "runs": None, "sessions": [], "alone": "", "more": 0}
    return asked.page("why", path=path, line=line or "", **{**empty, **values})


def _runs(found: Why, names: dict[str, str], line: int) -> list[dict[str, Any]]:
    """Group lines that follow each other and have the same author."""
    return [
        {
            "who": names.get(uid or "", ""),
            "doubt": "likely" if certainty == "likely" else "",
            "address": event_address(uid, event) if uid and event else "",
            "lines": [(one.number, one.text, one.number == line) for one in lines],
        }
        for (uid, event, certainty), lines in groupby(
            found.lines[:MOST_LINES],
            key=lambda one: (one.session_uid, one.event_uid, one.certainty),
        )
    ]


def _session(one: WhySession, names: dict[str, str]) -> dict[str, Any]:
    return {
        "name": names[one.session_uid],
        "title": one.title,
        "address": session_address(one.session_uid),
        "edit": event_address(one.session_uid, one.event_uid),
        "when": (one.at or "")[:16].replace("T", " "),
        "lines": plural(one.lines, "line"),
        "prompt": one.prompt,
        "said": one.said,
        "decided": one.decided,
        "turn_cost": money(one.turn_cost),
        "cost": money(one.cost),
    }


def _alone(found: Why) -> str:
    count = sum(line.session_uid is None and bool(line.text.strip()) for line in found.lines)
    if not count:
        return ""
    return (
        f"{plural(count, 'line')} of no session: a person wrote them, or the logs do not show it."
    )
