"""The methods of `Memory` for what was learned: patterns, retros, lessons and skills.

``to_dict()`` of an answer is what the command for it prints with ``--json``: ``patterns``,
``retro``, ``lessons list`` and ``skill stats``.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from session_memory.core.choices import one_of
from session_memory.core.time import now_ms
from session_memory.memory.arguments import Names, When, Zone, period_of
from session_memory.memory.base import OpenMemory, without_secrets
from session_memory.memory.checks import a_flag, a_path, checked_limit, maybe_text, names

if TYPE_CHECKING:
    from session_memory.learn.retro import Retro
    from session_memory.views.learning import PatternList
    from session_memory.views.lessons import LessonList
    from session_memory.views.skills import SkillList

# A retro for which no beginning is given covers the last seven days.
RETRO_MS = 7 * 86_400_000


class LearnedMethods(OpenMemory):
    """Methods of `Memory` about what was learned: patterns, retros, lessons, skills."""

    def patterns(
        self,
        *,
        since: When | None = None,
        until: When | None = None,
        tz: Zone | None = None,
        repo: str | None = None,
        type: str | None = None,
        polarity: str | None = None,
        noise: bool = False,
        limit: int = 0,
    ) -> "PatternList":
        """List what goes wrong or right in many analyzed sessions, the most important first.

        ``noise`` also lists rare patterns, and failures of the agents' own tools, which no project
        can change. With ``type``, both are always listed.
        """
        from session_memory.learn.detect import detectors
        from session_memory.learn.signal import POLARITIES
        from session_memory.views.learning import list_patterns

        if type is not None:
            one_of("type", type, detectors())
        if polarity is not None:
            one_of("polarity", polarity, POLARITIES)
        period = period_of(since, until, tz)
        listing = list_patterns(
            self.store,
            since=period.since,
            until=period.until,
            repo=maybe_text("repo", repo),
            kind=type,
            polarity=polarity,
            noise=a_flag("noise", noise),
            limit=checked_limit(limit),
        )
        return without_secrets(listing)

    def retro(
        self,
        session: str | None = None,
        *,
        since: When | None = None,
        until: When | None = None,
        tz: Zone | None = None,
        repo: str | None = None,
    ) -> "Retro":
        """Tell what was done, what it cost and what to do better in one analyzed session, or in a
        period, by default the last seven days."""
        from session_memory.core.errors import InvalidRecord, UnknownSession
        from session_memory.learn.retro import retro, retro_of
        from session_memory.views.learning import unread

        of_repo, waiting = maybe_text("repo", repo), unread(self.store)
        start, end = period_of(since, until, tz)
        if session is not None:
            if (start, end, of_repo) != (None, None, None):
                hint = "Leave out the session, or the period and the repository."
                raise InvalidRecord("give a session or filters, not both", hint, field="session")
            uid = self._uid(session)
            found = retro_of(self.store, uid, unread=waiting)
            if found is None:
                error = UnknownSession(uid)
                error.hint = f"It was not analyzed yet: session-memory analyze {uid}"
                raise error
            return without_secrets(self._with_decisions(found))
        end = now_ms() if end is None else end
        start = end - RETRO_MS if start is None else start
        found = retro(self.store, since=start, until=end, repo=of_repo, unread=waiting)
        return without_secrets(self._with_decisions(found))

    def _with_decisions(self, found: "Retro") -> "Retro":
        from session_memory.views.lessons import has_place, lessons_of
        from session_memory.views.retro import with_decisions

        if not has_place(self.store, self.config):
            return found
        return with_decisions(found, lessons_of(self.store, self.config))

    def lessons(
        self, *, status: str | None = None, directory: str | Path | None = None
    ) -> "LessonList":
        """List the lessons in ``directory``, by default the folder that the configuration names."""
        from session_memory.learn.lesson import STATUSES
        from session_memory.views.lessons import applied_of, lessons_of, list_lessons

        if status is not None:
            one_of("status", status, STATUSES)
        place = None if directory is None else a_path("directory", directory)
        lessons = lessons_of(self.store, self.config, place)
        return without_secrets(list_lessons(lessons, applied_of(self.store), self.store, status))

    def skills(
        self, skill: str | None = None, *, model: str | None = None, windows: Names | None = None
    ) -> "SkillList":
        """List how often skills pass, by skill and model, with advice about the model to use."""
        from session_memory.live.skill_rates import ALWAYS
        from session_memory.live.skill_uncollected import usual_logs
        from session_memory.views.skills import list_skills

        spans = names("windows", windows) or (ALWAYS,)
        only, by = maybe_text("skill", skill), maybe_text("model", model)
        logs = usual_logs(self.config)
        return list_skills(self.store, windows=spans, skill=only, model=by, logs=logs)
