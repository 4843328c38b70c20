"""The tool ``cost``: what was spent, the largest or newest parts first."""

from typing import Any

from session_memory.mcp.asking import Question
from session_memory.pricing.money_text import shown
from session_memory.views.figures import count_or_zero
from session_memory.views.session_labels import session_labels

SHOWN = 15
_BY_TIME = ("day", "week", "month")


def write(question: Question, arguments: dict[str, Any]) -> None:
    by, since = arguments["by"], arguments["since"]
    report = question.memory.cost(by, since=since, repo=question.repo)
    totals = report.totals
    if not totals.responses:
        question.nothing("nothing was spent" + (" since then" if since else ""))
        return
    where = question.repo or "all repositories"
    period = "since then" if since else "in total"
    spent = f"{shown(totals.amount)}, {count_or_zero(totals.tokens)} tokens"
    question.answer.say(f"{where} {period}: {spent}. By {by}:")
    rows = list(report.rows)
    if by in _BY_TIME:
        rows.sort(key=lambda row: row.key or "", reverse=True)
    else:
        rows.sort(key=lambda row: (-row.tally.microdollars, -row.tally.tokens))
    names = _names(question, [row.key or "" for row in rows[:SHOWN]]) if by == "session" else {}
    for place, row in enumerate(rows[:SHOWN]):
        part = f"{shown(row.tally.amount)}, {count_or_zero(row.tally.tokens)} tokens"
        question.answer.quote(
            part, names.get(row.key or "", row.key or "none"), rank=place + 1, most=80
        )
    if len(rows) > SHOWN:
        question.answer.say(f"and {len(rows) - SHOWN:,} more", rank=1)
    if report.unpriced:
        question.answer.say("unpriced: models without a known price are not counted in dollars", 1)


def _names(question: Question, uids: list[str]) -> dict[str, str]:
    """Return the ref (short id) and the title of each session as one text, by uid."""
    labels = session_labels(question.memory.store, uids)
    return {uid: f"[{labels.name(uid)}] {labels.title(uid)}" for uid in uids}
