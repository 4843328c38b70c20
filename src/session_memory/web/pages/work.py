"""The page with figures about the work: waits, days, failing tools, tests, models and files."""

from datetime import date, timedelta
from typing import Any

from starlette.responses import Response

from session_memory.core.errors import InvalidRecord
from session_memory.core.text import below_repo
from session_memory.render.paths import short_path
from session_memory.views.figures import count_or_zero, duration
from session_memory.views.stats.sections import Activity, TimeStats
from session_memory.web.asked import Asked
from session_memory.web.charts import calendar, share_bar

SINCE = {"7d": "7 days", "30d": "30 days", "90d": "90 days", "365d": "Year", "": "All"}
WEEKS = 53


def work(asked: Asked) -> Response:
    since = asked.query.get("since", "90d" if "all" not in asked.query else "")
    if since not in SINCE:
        raise InvalidRecord("since must be one of " + ", ".join(SINCE), field="since")
    report = asked.memory.stats(
        "summary",
        "activity",
        "tools",
        "tests",
        "files",
        "time",
        "models",
        since=since or None,
    )
    parts = report.sections
    return asked.page(
        "work",
        since=since,
        choices=[
            (name, f"/work?since={key}" if key else "/work?all=1", key == since)
            for key, name in SINCE.items()
        ],
        summary=parts["summary"],
        waits=_waits(parts["time"]),
        calendar=_calendar(parts["activity"]),
        tools=[_tool(one) for one in parts["tools"].rows],
        tests=parts["tests"],
        pass_rate=_percent(parts["tests"].pass_rate),
        models=[_model(one) for one in parts["models"].rows],
        files=[_file(one) for one in parts["files"].rows],
        hit_rate=_percent(parts["summary"].hit_rate),
    )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def _waits(time: TimeStats) -> list[dict[str, Any]]:
    fills = {"you": "f-person", "the model": "f-model", "tools": "f-tool", "other things": "f-idle"}
    rows = zip(fills, (time.person, time.model, time.tools, time.other), strict=True)
    return [
        {
            "who": who,
            "bar": share_bar(wait.share or 0, fills[who]),
            "time": duration(wait.ms / 1000),
            "share": _percent(wait.share),
        }
        for who, wait in rows
    ]


def _calendar(activity: Activity) -> Any:
    counts = {date.fromisoformat(day.day): day.sessions for day in activity.days}
    if not counts:
        return None
    last = max(counts)
    first = max(min(counts), last - timedelta(weeks=WEEKS))
    return calendar(counts, first, last)


def _tool(one: Any) -> dict[str, Any]:
    return {
        "name": one.tool or "-",
        "calls": f"{one.calls:,}",
        "failed": f"{one.failed:,}" if one.failed else "",
        "rate": _percent(one.error_rate),
        "bar": share_bar(one.error_rate or 0, "f-bad"),
        "median": "" if one.median_ms is None else duration(one.median_ms / 1000),
    }


def _file(one: Any) -> dict[str, Any]:
    """A file is named as `stats` names it; ``path`` is the whole path."""
    return {
        "name": below_repo(short_path(one.path), one.repo),
        "path": one.path,
        "repo": one.repo or "",
        "edits": f"{one.edits:,}",
        "sessions": f"{one.sessions:,}",
    }


def _model(one: Any) -> dict[str, Any]:
    return {
        "name": one.model,
        "sessions": f"{one.sessions:,}",
        "responses": f"{one.responses:,}",
        "output": count_or_zero(one.output_tokens),
        "cached": _percent(one.hit_rate),
    }
