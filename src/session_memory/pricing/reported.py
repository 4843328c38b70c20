"""Read the costs of whole sessions that agents themselves wrote into their logs.

No total includes them; they are only compared with our amounts. The agents' costs of single
responses are elsewhere: in a column of ``usage``, by which `charges` groups (``reported``).
"""

import msgspec

from session_memory.derive.facts import SESSION_COSTS, TREE_COSTS, merged_facts
from session_memory.store import Store

_SESSIONS = f"""
    select uid, flavor, repo, coalesce(started_at, ended_at), facts from sessions
    where facts like '%"{SESSION_COSTS}%' order by uid
"""


class SessionFigure(msgspec.Struct, frozen=True):
    """What a session cost so far by its agent's own log, in micro-dollars by model.

    ``with_subagents``: its subagents are included. The model is "" if the agent names none.
    """

    uid: str
    flavor: str
    repo: str | None
    at: int | None
    costs: dict[str, int]
    with_subagents: bool


def session_figures(store: Store) -> list[SessionFigure]:
    """Return the agents' figures of all sessions that have some, in the order of their uids."""
    found = []
    for uid, flavor, repo, at, text in store.db.all(_SESSIONS):
        facts = merged_facts(text)
        for name, whole in ((SESSION_COSTS, False), (TREE_COSTS, True)):
            if costs := _costs(facts.get(name)):
                found.append(SessionFigure(uid, flavor, repo, at, costs, whole))
    return found


def _costs(fact: object) -> dict[str, int]:
    """Return the valid costs in a fact. An adapter of another package may state anything."""
    if not isinstance(fact, dict):
        return {}
    return {model: cost for model, cost in fact.items() if type(cost) is int and cost >= 0}
