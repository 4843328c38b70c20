"""The other pages of a session: changes, digest, cost, family, similar sessions, raw records."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
from starlette.responses import Response

from session_memory.pricing import Amount
from session_memory.pricing import shown as money
from session_memory.render.code import Colours
from session_memory.render.phrases import outcome_words
from session_memory.views.cost_audit import audit
from session_memory.views.evicted import readable_events
from session_memory.views.family import FamilyNode
from session_memory.views.figures import count_or_zero, duration, local, plural
from session_memory.views.learning import show_digest
from session_memory.views.outcome_reasons import reason_words
from session_memory.views.payloads import Payloads
from session_memory.views.session_pages import rows_of
from session_memory.web.asked import Asked
from session_memory.web.markup import lines
from session_memory.web.pages.session_head import session_of, session_page
from session_memory.web.rows import cost_shown, dot_of, event_address, list_row, session_address
from session_memory.web.transcript_rows import LEAST_DIFF_LINES, MOST_DIFF_LINES, shown_diff

MOST_FILES, MOST_RESPONSES, MOST_RELATIVES = 200, 1000, 300
MOST_COLOURED = 128 * 1024
MOST_LINES = 4000
"""How many lines the page with changes has. A file shows some lines in any case."""


class Relative(msgspec.Struct, frozen=True, kw_only=True):
    """A session of a family in a list. ``depth`` says how far it is indented."""

    depth: int
    title: str
    address: str
    relation: str
    dot: str
    facts: str
    own: str
    total: str
    is_asked: bool


class DigestLine(msgspec.Struct, frozen=True):
    """A line of a digest with a link to its event."""

    text: str
    address: str
    note: str = ""


def changes(asked: Asked) -> Response:
    found = session_of(asked)
    diff = asked.memory.session(found.session_uid).diff()
    colours, left = Colours(MOST_COLOURED), MOST_LINES
    files = []
    for one in diff.files[:MOST_FILES]:
        counts = (one.added, one.removed)
        most = max(min(MOST_DIFF_LINES, left), LEAST_DIFF_LINES)
        shown = shown_diff(one.path, one.path, counts, one.lines, colours, most)
        left -= len(shown.lines)
        files.append((shown, one.notes, _place(found.cwd, one.path)))
    is_cut = any(shown.left_out for shown, _, _ in files)
    left_out = max(len(diff.files) - MOST_FILES, 0)
    added = sum(one.added for one in diff.files)
    removed = sum(one.removed for one in diff.files)
    summary = f"{plural(len(diff.files), 'file')}, +{added:,} −{removed:,}"
    return session_page(
        asked,
        found,
        "changes",
        "changes",
        files=files,
        left_out=left_out,
        summary=summary,
        is_cut=is_cut,
    )


def _place(cwd: str | None, path: str) -> str:
    """Return the path of a changed file on this machine; empty if it no longer exists."""
    place = Path(cwd or "", path)
    try:
        return str(place) if place.is_absolute() and place.is_file() else ""
    except (OSError, ValueError):
        return ""  # A log may contain a name that no file can have.


def digest(asked: Asked) -> Response:
    found = session_of(asked)
    shown = show_digest(asked.memory.store, found.session_uid)
    value = shown.digest
    uid = found.session_uid

    def linked(text: str, event: str, note: str = "") -> DigestLine:
        return DigestLine(text, event_address(uid, event), note)

    return session_page(
        asked,
        found,
        "digest",
        "digest",
        result=value.outcome.outcome,
        reason=reason_words(value.outcome.outcome, value.outcome.reason),
        evidence=[event_address(uid, event) for event in value.outcome.evidence],
        is_stored=shown.is_stored,
        prompts=[linked(one.text, one.event_uid) for one in value.prompts],
        commits=[linked(one.text, one.event_uid) for one in value.commits],
        decisions=[linked(one.text, one.event_uid) for one in value.decisions],
        errors=[
            {
                "error": linked(
                    one.sample,
                    one.event_uids[0] if one.event_uids else "",
                    f"{one.count} times" if one.count > 1 else "",
                ),
                "fix": None
                if one.resolution is None
                else linked(
                    one.resolution.text, one.resolution.event_uids[0], one.resolution.certainty
                )
                if one.resolution.event_uids
                else None,
            }
            for one in value.error_snippets
        ],
        files=value.files[:40],
        commands=[
            linked(one.text, one.event_uid, plural(one.runs, "run")) for one in value.commands[:40]
        ],
        tests=[
            linked(one.command, one.event_uid, _test(one.passed, one.failed_count))
            for one in value.tests[:40]
        ],
    )


def _test(passed: bool | None, failed: int | None) -> str:
    if passed is None:
        return "unknown"
    return "passed" if passed else f"{failed} failed" if failed else "failed"


def session_cost(asked: Asked) -> Response:
    found = session_of(asked)
    result = audit(asked.memory.store, found.session_uid)
    rows = [
        {
            "address": event_address(found.session_uid, one.event_uid) if one.event_uid else "",
            "seq": one.usage.seq,
            "time": local(one.usage.ts, "%H:%M:%S") if one.usage.ts else "",
            "model": one.rate.kind.label,
            "parts": ", ".join(
                f"{part.bucket.replace('_', ' ')} {count_or_zero(part.count)}"
                for part in one.parts
                if part.count
            ),
            "rule": one.rate.words,
            "cost": money(Amount(one.microdollars)) if one.rate.price else "unpriced",
            "is_left": one.branch is not None,
        }
        for one in result.records[:MOST_RESPONSES]
    ]
    return session_page(
        asked,
        found,
        "cost",
        "session_cost",
        rows=rows,
        left_out=max(len(result.records) - MOST_RESPONSES, 0),
        own=money(result.own),
        whole=money(result.whole),
        subagents=len(result.subagents),
        branches=money(Amount(sum(result.branches.values()))) if result.branches else "",
    )


def family(asked: Asked) -> Response:
    found = session_of(asked)
    tree = asked.memory.session(found.session_uid).family()
    rows = list(_relatives(tree.root, found.session_uid, 0))
    return session_page(
        asked,
        found,
        "family",
        "family",
        rows=rows[:MOST_RELATIVES],
        left_out=max(len(rows) - MOST_RELATIVES, 0) + tree.left_out,
        amount=money(tree.amount),
    )


def _relatives(node: FamilyNode, asked: str, depth: int) -> Iterator[Relative]:
    waiting = [(node, depth)]
    while waiting:
        one, level = waiting.pop()
        session = one.session
        took = session.cost.wall_clock_s
        facts = (outcome_words(session), duration(took) if took else "", session.model or "")
        yield Relative(
            depth=min(level, 12),
            title=one.title,
            address=session_address(session.session_uid),
            relation=session.relation or "",
            dot=dot_of(session),
            facts=" · ".join(fact for fact in facts if fact),
            own=cost_shown(one.own),
            total=cost_shown(one.total),
            is_asked=session.session_uid == asked,
        )
        waiting += [(child, level + 1) for child in reversed(one.children)]


def like(asked: Asked) -> Response:
    found = session_of(asked)
    store = asked.memory.store
    result = asked.memory.similar(session=found.session_uid, limit=20)
    sessions = [store.sessions.get(one.session.uid) for one in result.found]
    rows = {
        row.session.session_uid: list_row(row)
        for row in rows_of(store, [one for one in sessions if one is not None])
    }
    shown = [
        {
            "row": rows[one.session.uid],
            "likeness": f"{100 * one.likeness:.0f} %",
            "words": one.words[:8],
            "files": one.files[:4],
        }
        for one in result.found
        if one.session.uid in rows
    ]
    return session_page(asked, found, "like", "like", others=shown)


def raw(asked: Asked) -> Response:
    """Return the page with the record of an event, as its agent wrote it."""
    found = session_of(asked)
    uid = found.session_uid
    one = asked.memory.session(uid)
    event = next((event for event in one.events if event.event_uid == asked.path["event"]), None)
    text = ""
    if event is not None:
        store, _ = readable_events(asked.memory.store, uid)
        payload = Payloads(store, uid).of(event)
        if payload.record is not None:
            text = msgspec.json.format(msgspec.json.encode(payload.record)).decode()
    return session_page(asked, found, "", "raw", record=lines(text), event=asked.path["event"])
