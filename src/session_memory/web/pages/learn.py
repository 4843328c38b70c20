"""The pages of patterns (what many sessions have in common), lessons and retrospectives."""

from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from session_memory.core.errors import InvalidRecord
from session_memory.learn.kept_patterns import are_patterns_slow
from session_memory.pricing import Amount
from session_memory.pricing import shown as money
from session_memory.views.figures import plural
from session_memory.views.last_day import last_day
from session_memory.views.learning import find_pattern, pattern_dict
from session_memory.views.lessons import (
    applied_of,
    lesson_effect,
    lessons_of,
    show_lesson,
    suggested_lessons,
)
from session_memory.views.pattern_courses import pattern_courses
from session_memory.views.retro import to_markdown
from session_memory.views.session_pages import rows_of
from session_memory.web.asked import Asked
from session_memory.web.charts import spark
from session_memory.web.effect_drawing import EffectSide, effect_drawing
from session_memory.web.markup import answer, with_session_links
from session_memory.web.rows import cost_shown, event_address, list_row, session_address

MOST_PATTERNS = 100
MOST_EVIDENCE = 20
MANY_SESSIONS = 5000
DAYS = (1, 7, 30, 90)


def patterns(asked: Asked) -> Response:
    repo, noise = asked.query.get("repo"), asked.query.get("noise") == "1"
    if _may_wait(asked) and are_patterns_slow(asked.memory.store, repo=repo):
        # The page is shown at once. It fetches its block with the patterns when it has loaded.
        return asked.page("patterns", waits=True, here_address=_here(repo, noise))
    listing = asked.memory.patterns(repo=repo, noise=noise)
    sides = (
        [one for one in listing.patterns if one.polarity == "problem"],
        [one for one in listing.patterns if one.polarity != "problem"],
    )
    some = [one for side in sides for one in side[:MOST_PATTERNS]]
    courses = pattern_courses(asked.memory.store, some)
    rows = [
        _pattern(pattern_dict(one)) | {"course": spark(courses.get(one.id, ()))} for one in some
    ]
    problems, successes = map(len, sides)
    return asked.page(
        "patterns",
        waits=False,
        here_address="",
        problems=[row for row in rows if row["polarity"] == "problem"],
        successes=[row for row in rows if row["polarity"] != "problem"],
        lead=f"{plural(problems, 'problem')} and {plural(successes, 'success', 'successes')}",
        left_out=len(listing.patterns) - len(some),
        hidden=listing.hidden,
        unread=listing.unread,
        sessions=listing.sessions,
        repo=repo or "",
    )


def _may_wait(asked: Asked) -> bool:
    """Whether a request may get the page without the block that the page then fetches."""
    return not asked.part and "now" not in asked.query


def _here(repo: str | None, noise: bool) -> str:
    asked = {"repo": repo, "noise": "1" if noise else None, "now": "1"}
    return "/learn?" + urlencode({name: value for name, value in asked.items() if value})


def _pattern(one: dict[str, Any]) -> dict[str, Any]:
    facts = [plural(one["sessions"], "session")]
    if one["microdollars"]:
        facts.append(f"{money(Amount(one['microdollars']))} {one['basis']}")
    facts += [", ".join(one["repos"][:3])] if one["repos"] else []
    return {
        "id": one["id"],
        "polarity": one["polarity"],
        "title": one["title"],
        "what": one["detail"] or one["locus"],
        "facts": [fact for fact in facts if fact],
        "last": (one["last_seen"] or "")[:10],
        "cost": cost_shown(Amount(one["microdollars"])),
        "sessions": one["sessions"],
    }


def pattern(asked: Asked) -> Response:
    store = asked.memory.store
    found = find_pattern(store, asked.path["id"])
    values = pattern_dict(found)
    sessions = [store.sessions.get(uid) for uid in found.session_uids[:MOST_EVIDENCE]]
    rows = rows_of(store, [one for one in sessions if one is not None])
    evidence = [
        {"address": event_address(one.session_uid, one.event_uid), "session": one.session_uid}
        for one in found.evidence[:MOST_EVIDENCE]
    ]
    return asked.page(
        "pattern",
        pattern=_pattern(values),
        advice=values["advice"],
        locus=found.locus,
        detail=found.detail,
        first=(found.first_seen or "")[:10],
        rows=[list_row(row) for row in rows],
        evidence=evidence,
        command=f"session-memory lessons accept {found.id}",
    )


def lessons(asked: Asked) -> Response:
    store, config = asked.memory.store, asked.memory.config
    folder = lessons_of(store, config)
    listing = asked.memory.lessons()
    waits = _may_wait(asked) and are_patterns_slow(store)
    return asked.page(
        "lessons",
        lessons=[
            {
                "id": row.lesson.id,
                "title": row.lesson.title,
                "status": row.lesson.status,
                "effect": row.lesson.effect or "not measured yet",
                "seen": plural(row.seen, "session"),
                "files": row.live,
            }
            for row in listing.rows
        ],
        waits=waits,
        suggested=[] if waits else suggested_lessons(store, folder, limit=20),
        directory=listing.directory,
        problems=listing.problems,
    )


def lesson(asked: Asked) -> Response:
    store, config = asked.memory.store, asked.memory.config
    found = show_lesson(lessons_of(store, config), applied_of(store), store, asked.path["id"])
    one = found.row.lesson
    if asked.part == "effect":
        return asked.page("lesson", effect=_effect(asked))
    return asked.page(
        "lesson",
        lesson=one,
        effect=None,
        address=f"/lessons/{one.id}",
        files=found.row.live,
        decisions=found.decisions,
        seen=plural(found.row.seen, "session"),
        sessions=[(uid, session_address(uid)) for uid in one.session_uids[:MOST_EVIDENCE]],
    )


def _effect(asked: Asked) -> dict[str, Any]:
    store, config = asked.memory.store, asked.memory.config
    folder, applied = lessons_of(store, config), applied_of(store)
    found = lesson_effect(folder, applied, store, config, asked.path["id"])
    measured = found.measured
    sides = [
        EffectSide("before", measured.before, found.sessions["before"]),
        EffectSide("after", measured.after, found.sessions["after"]),
    ]
    is_applied = measured.applied_at is not None
    return {
        "verdict": measured.verdict.replace("_", " "),
        "reason": measured.reason,
        "applied": (measured.applied_at or "")[:10],
        "drawing": effect_drawing(sides, session_address) if is_applied else "",
        "rows": [side.words for side in sides] if is_applied else [],
        "command": f"session-memory lessons measure {measured.lesson}",
    }


def retro(asked: Asked) -> Response:
    days = asked.number("days", 7)
    if days not in DAYS:
        raise InvalidRecord("days must be one of " + ", ".join(map(str, DAYS)), field="days")
    until = _retro_end(asked)
    if _may_wait(asked) and asked.memory.store.sessions.count() > MANY_SESSIONS:
        ending = "" if until is None else f"&until={until}"
        here = f"/retro?days={days}{ending}&now=1"
        return asked.page("retro", days=days, choices=DAYS, until=until, here_address=here)
    since = f"{days}d" if until is None else str(until - timedelta(days=days - 1))
    end = None if until is None else str(until)
    found = asked.memory.retro(since=since, until=end, repo=asked.query.get("repo"))
    last = None if found.repos else last_day(asked.memory.store)
    return asked.page(
        "retro",
        days=days,
        choices=DAYS,
        until=end,
        text=with_session_links(answer(to_markdown(found)), session_address, event_address),
        here_address="",
        last_day=str(last) if last and last != until else "",
    )


def _retro_end(asked: Asked) -> date | None:
    """Return the last day of the retrospective that the address names; None means today."""
    until = asked.query.get("until")
    if until is None:
        return None
    try:
        return date.fromisoformat(until)
    except ValueError as error:
        raise InvalidRecord("until must be a day such as 2026-07-01", field="until") from error
