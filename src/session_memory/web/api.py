"""The JSON API: the answers that the command line prints with ``--json``; lists come in pages.

The OpenAPI document, which describes the API, is made from ``ENDPOINTS``.
"""

from typing import Any

import msgspec
from starlette.responses import Response

from session_memory.config import this_host
from session_memory.core.errors import InvalidRecord
from session_memory.core.schema import OUTCOMES
from session_memory.pricing import session_amounts
from session_memory.store.session_pages import ORDERS
from session_memory.views.cost import GROUPINGS
from session_memory.views.doctor import examine
from session_memory.views.event_lookup import find_event
from session_memory.views.periods import period
from session_memory.views.session import EventSelection, show_session
from session_memory.views.session_pages import session_page
from session_memory.views.sessions import Filter
from session_memory.views.stats import SECTIONS
from session_memory.web.api_description import description
from session_memory.web.api_endpoints import MOST, USUAL, Endpoint, Parameter
from session_memory.web.asked import Asked
from session_memory.web.pages.session_head import session_of
from session_memory.web.pages.why import asked_for
from session_memory.web.routes import API

LONGEST_TEXT = 4000


def _text(asked: Asked, name: str) -> str | None:
    value = asked.query.get(name)
    if value is not None and len(value) > LONGEST_TEXT:
        raise InvalidRecord(f"{name} is longer than {LONGEST_TEXT:,} characters", field=name)
    return value


def _choice(asked: Asked, name: str, choices: tuple[str, ...], default: str | None) -> str | None:
    value = asked.query.get(name, default)
    if value is not None and value not in choices:
        hint = f"Use one of: {', '.join(choices)}."
        raise InvalidRecord(f"{name} has an unknown value", hint, field=name)
    return value


def _limit(asked: Asked, usual: int = USUAL) -> int:
    text = asked.query.get("limit")
    if text is None:
        return usual
    if not (text.isascii() and text.isdigit() and len(text) < 9) or not 0 < int(text) <= MOST:
        raise InvalidRecord(f"limit must be a number from 1 to {MOST}", field="limit")
    return int(text)


def _sessions(asked: Asked) -> dict[str, Any]:
    since, until = _text(asked, "since"), _text(asked, "until")
    filters = Filter(
        repo=_text(asked, "repo"),
        flavor=_text(asked, "flavor"),
        model=_text(asked, "model"),
        branch=_text(asked, "branch"),
        outcome=_choice(asked, "outcome", OUTCOMES, None),
        since=period(since)[0] if since else None,
        until=period(until)[1] if until else None,
    )
    sort = _choice(asked, "sort", (*ORDERS, "cost"), "newest") or "newest"
    store = asked.memory.store
    page = session_page(store, filters, sort=sort, after=_text(asked, "after"), size=_limit(asked))
    uids = [row.session.session_uid for row in page.rows]
    return {
        "sessions": [row.session.to_dict() for row in page.rows],
        "amounts": msgspec.to_builtins(session_amounts(store, uids)),
        "next": page.next,
    }


def _session(asked: Asked) -> dict[str, Any]:
    uid = session_of(asked).session_uid
    values = show_session(asked.memory.store, uid, EventSelection(first=1 << 60)).to_dict()
    return {name: value for name, value in values.items() if name not in ("events", "usage")}


def _events(asked: Asked) -> dict[str, Any]:
    found, most = session_of(asked), _limit(asked)
    store = asked.memory.store
    row = store.sessions.row(found.session_uid)
    text = _text(asked, "after")
    after = -1 if text is None else find_event(store, found.session_uid, text)
    placed = store.events.between(row.id, found.session_uid, after + 1, after + most) if row else []
    last = store.events.last_seq(row.id) if row else -1
    return {
        "events": [
            event.to_dict() | ({"inherited": True, "seq_here": seq} if owner else {})
            for seq, owner, event in placed
        ],
        "next": str(after + most) if after + most < last else None,
    }


def _search(asked: Asked) -> dict[str, Any]:
    text = _text(asked, "q") or ""
    return asked.memory.search(text, limit=_limit(asked, 20)).to_dict()


def _fix(asked: Asked) -> dict[str, Any]:
    return asked.memory.fix(_text(asked, "q") or "", limit=_limit(asked, 5)).to_dict()


def _how(asked: Asked) -> dict[str, Any]:
    return asked.memory.how(_text(asked, "q") or "", limit=_limit(asked, 5)).to_dict()


def _why(asked: Asked) -> dict[str, Any]:
    return asked_for(asked, _text(asked, "path") or "", asked.number("line")).to_dict()


def _cost(asked: Asked) -> dict[str, Any]:
    by = _choice(asked, "by", GROUPINGS, "day") or "day"
    return asked.memory.cost(
        by=by,
        since=_text(asked, "since"),
        until=_text(asked, "until"),
        repo=_text(asked, "repo"),
        model=_text(asked, "model"),
    ).to_dict()


def _stats(asked: Asked) -> dict[str, Any]:
    section = _choice(asked, "section", SECTIONS, None)
    names = (section,) if section else ()
    return asked.memory.stats(
        *names, since=_text(asked, "since"), until=_text(asked, "until"), repo=_text(asked, "repo")
    ).to_dict()


def _patterns(asked: Asked) -> dict[str, Any]:
    return asked.memory.patterns(repo=_text(asked, "repo"), limit=_limit(asked)).to_dict()


def _lessons(asked: Asked) -> dict[str, Any]:
    return asked.memory.lessons().to_dict()


def _retro(asked: Asked) -> dict[str, Any]:
    since, repo = _text(asked, "since") or "7d", _text(asked, "repo")
    return asked.memory.retro(since=since, repo=repo).to_dict()


def _keep(asked: Asked) -> dict[str, Any]:
    config = asked.memory.config
    place, host = asked.memory.place, this_host(config)
    return examine(config, place, asked.memory.store, None, host).to_dict()


_SINCE = Parameter("since", "a date, a month, or 7d")
_UNTIL = Parameter("until", "a date or a month, included")
_REPO = Parameter("repo", "the name of a repository, or a pattern")
_MODEL = Parameter("model", "a part of a model's name")
_LIMIT = Parameter("limit", f"how many, at most {MOST}", is_number=True)
_QUERY = Parameter("q", "words and filters, as in the search field", is_required=True)

ENDPOINTS = (
    Endpoint(
        "/sessions",
        "A page of sessions, as sessions --json.",
        _sessions,
        (
            *(_SINCE, _UNTIL, _REPO, _MODEL, _LIMIT),
            Parameter("flavor", "an agent"),
            Parameter("branch", "a git branch"),
            Parameter("outcome", "how it ended", OUTCOMES),
            Parameter("sort", "the order", (*ORDERS, "cost")),
            Parameter("after", "`next` of the page before"),
        ),
    ),
    Endpoint(
        "/sessions/{uid:path}/events",
        "A page of the events of a session.",
        _events,
        (_LIMIT, Parameter("after", "`next` of the page before, or the id of an event")),
    ),
    Endpoint("/sessions/{uid:path}", "One session without its events.", _session),
    Endpoint("/search", "Events with all words, as search --json.", _search, (_QUERY, _LIMIT)),
    Endpoint("/fix", "How an error was resolved, as fix --json.", _fix, (_QUERY, _LIMIT)),
    Endpoint("/how", "Sessions that did a task, as how --json.", _how, (_QUERY, _LIMIT)),
    Endpoint(
        "/why",
        "Which sessions wrote a file that a session changed, or a line of it, as why --json.",
        _why,
        (
            Parameter("path", "the absolute path of the file", is_required=True),
            Parameter("line", "the number of a line", is_number=True),
        ),
    ),
    Endpoint(
        "/cost",
        "What was spent, as cost --json.",
        _cost,
        (Parameter("by", "the rows", GROUPINGS), _SINCE, _UNTIL, _REPO, _MODEL),
    ),
    Endpoint(
        "/stats",
        "Figures about the work, as stats --json.",
        _stats,
        (Parameter("section", "only this section", SECTIONS), _SINCE, _UNTIL, _REPO),
    ),
    Endpoint(
        "/patterns",
        "What goes wrong or right in many sessions, as patterns --json.",
        _patterns,
        (_REPO, _LIMIT),
    ),
    Endpoint("/lessons", "Lessons, as lessons --json.", _lessons),
    Endpoint("/retro", "A retrospective, as retro --json.", _retro, (_SINCE, _REPO)),
    Endpoint("/keep", "The state of logs and store, as doctor --json.", _keep),
)


_BY_PATH = {f"{API}{endpoint.path}": endpoint for endpoint in ENDPOINTS}


def answered(asked: Asked) -> Response:
    """Check the parameters of a request, and return the answer of its endpoint."""
    endpoint = _BY_PATH[asked.route]
    known = {parameter.name for parameter in endpoint.parameters}
    if unknown := sorted(asked.query.keys() - known):
        hint = f"Known are: {', '.join(sorted(known)) or 'none'}."
        raise InvalidRecord(f"unknown parameter {unknown[0]}", hint, field="query")
    for parameter in endpoint.parameters:
        if parameter.is_required and parameter.name not in asked.query:
            raise InvalidRecord(f"{parameter.name} is missing", field=parameter.name)
    return asked.json(endpoint.answer(asked))


def openapi(asked: Asked) -> Response:
    """Return the OpenAPI document, which describes the API for programs."""
    return asked.json(description(API, ENDPOINTS))
