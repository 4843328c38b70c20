"""Note facts about the session as a whole: working directory, titles, times."""

from session_memory.adapters.base import Record
from session_memory.adapters.detectors.tasks import task_at, task_in_branch
from session_memory.adapters.reported_costs import SESSION_COSTS, TREE_COSTS
from session_memory.core.text import one_line
from session_memory.derive.settle.chain import ParentChain
from session_memory.derive.settle.state import STATED_FIRST, SettleState
from session_memory.derive.title_texts import is_notice

PENDING_SUMMARIES = 32
# A longer break between two records is not counted as work.
IDLE_MS = 30 * 60 * 1000


def note_session(state: SettleState, record: Record) -> None:
    """Note the first working directory, and the last branch and version of the agent.

    Also set a summary that came earlier, if it is about this record.
    """
    if state.cwd is None:
        state.cwd = record.cwd
    if record.git_branch and record.git_branch != state.git_branch:
        state.git_branch = record.git_branch
        state.task_branch = task_in_branch(record.git_branch) or state.task_branch
    if record.agent_version:
        state.agent_version = record.agent_version
    if state.summaries and record.native_id:
        for leaf, summary in state.summaries:
            if leaf == record.native_id:
                state.summary = summary


def note_facts(state: SettleState, record: Record, chain: ParentChain) -> None:
    """Note the repository, costs, titles, and a summary if it is about this session.

    Claude Code writes summaries of other sessions into a log. A summary counts when its ``leaf``
    is a record of this session; one whose leaf is not read yet waits.
    """
    facts = record.facts or {}
    for name in STATED_FIRST:
        setattr(state, name, getattr(state, name) or facts.get(name))
    for name in (SESSION_COSTS, TREE_COSTS):
        if facts.get(name):
            state.reported_costs = {**state.reported_costs, name: facts[name]}
    if facts.get("task_ref"):
        state.task_branch = one_line(facts["task_ref"])
    if facts.get("pull_request") and not state.task_pull:
        state.task_pull = task_at(facts["pull_request"])
    # The model in a fact counts until an answer names its own model.
    state.model = state.model or facts.get("model")
    for name in ("custom_title", "ai_title", "agent_name"):
        if facts.get(name) and (name == "custom_title" or not is_notice(facts[name])):
            setattr(state, name, one_line(facts[name]))
    if facts.get("summary") and facts.get("leaf") and not is_notice(facts["summary"]):
        leaf, summary = facts["leaf"], one_line(facts["summary"])
        if chain.knows(leaf):
            state.summary = summary
        else:
            state.summaries = [*state.summaries, (leaf, summary)][-PENDING_SUMMARIES:]


def end_turn(state: SettleState, duration_ms: int) -> None:
    """End a turn with the duration that the agent logged."""
    if duration_ms:
        state.turn_ms += duration_ms
        state.open_ms, state.in_turn = 0, False


def begin_turn(state: SettleState) -> None:
    """Begin a turn at a prompt. The turn before counts up to its last record, because after that
    the agent waited for the person."""
    state.unlogged_ms += max(0, state.open_ms - state.last_gap)
    state.open_ms = state.last_gap = 0
    state.in_turn = True


def note_time(state: SettleState, ts: int) -> None:
    """Update the first and the last time, and the time between records without long breaks."""
    if state.first_ts is None or ts < state.first_ts:
        state.first_ts = ts
    if state.last_ts is None:
        state.last_ts = ts
    elif ts > state.last_ts:
        gap = ts - state.last_ts
        state.last_gap = gap if gap <= IDLE_MS else 0
        state.active_ms += state.last_gap
        if state.in_turn:
            state.open_ms += state.last_gap
        state.last_ts = ts
