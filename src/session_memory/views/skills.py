"""List pass rates by skill, model and time window, each with advice about the model to use."""

from collections.abc import Sequence
from typing import Any

import msgspec

from session_memory.live.skill_log import SkillLog
from session_memory.live.skill_rates import ALWAYS, PassRate, pass_rates, sum_rates
from session_memory.live.skill_uncollected import count_without_log, usual_logs
from session_memory.store import Store
from session_memory.views.matching import holds, is_like


class SkillRow(msgspec.Struct, frozen=True):
    """A skill in one time window, with a rate for each of its models."""

    rate: PassRate
    models: list[PassRate]

    def to_dict(self) -> dict[str, Any]:
        models = [_without_skill(model) for model in self.models]
        return {**self.rate.to_dict(), "models": models}


class SkillList(msgspec.Struct, frozen=True):
    """Skills with their pass rates. ``evicted`` is the number of evicted sessions whose skill calls
    are not counted, because this machine has no log of them."""

    skills: list[SkillRow]
    evicted: int = 0

    def to_dict(self) -> dict[str, Any]:
        more = {"evicted": self.evicted} if self.evicted else {}
        return {"skills": [row.to_dict() for row in self.skills], **more}


def list_skills(
    store: Store,
    *,
    windows: Sequence[str] = (ALWAYS,),
    skill: str | None = None,
    model: str | None = None,
    now: int | None = None,
    logs: Sequence[SkillLog] | None = None,
) -> SkillList:
    """List skills by name, each with its pass rate in every time window of ``windows``.

    ``skill`` may contain ``*`` and ``?``. With ``model``, only calls with a model whose name
    contains it are counted. ``logs``: see `session_memory.live.skill_rates.pass_rates`.
    """
    rows = [
        row
        for window in dict.fromkeys(windows)
        for row in _in_window(pass_rates(store, window, now=now, logs=logs), skill, model)
    ]
    order = list(windows)
    rows.sort(key=lambda row: (row.rate.skill, order.index(row.rate.window)))
    return SkillList(rows, count_without_log(store, usual_logs() if logs is None else logs))


def _in_window(rates: list[PassRate], skill: str | None, model: str | None) -> list[SkillRow]:
    by_skill: dict[str, list[PassRate]] = {}
    for rate in rates:
        if _matches(rate, skill, model):
            by_skill.setdefault(rate.skill, []).append(rate)
    return [
        SkillRow(sum_rates(models, _named(models, model)), models) for models in by_skill.values()
    ]


def _named(rates: list[PassRate], model: str | None) -> PassRate:
    """Return an empty rate for the sum of ``rates``. With a filter, it names the models in it."""
    names = None if model is None else ", ".join(rate.model or "-" for rate in rates)
    return PassRate(skill=rates[0].skill, window=rates[0].window, model=names)


def _matches(rate: PassRate, skill: str | None, model: str | None) -> bool:
    return is_like(rate.skill, skill) and (model is None or holds(rate.model or "", model))


def _without_skill(rate: PassRate) -> dict[str, Any]:
    """Return the rate of one model without the fields that the row of its skill has already."""
    values = rate.to_dict()
    return {name: values[name] for name in values if name not in ("skill", "window")}
