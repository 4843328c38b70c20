"""The values that settling a session saves between two syncs.

The structs are stored as arrays: fields may be added at the end, and never moved or removed.
"""

from typing import TypeVar

import msgspec

from session_memory.adapters.base import CallOutcome, NativeEvent
from session_memory.adapters.detectors.tasks import task_in_branch
from session_memory.derive.title_texts import is_weak
from session_memory.store.sessions import CollectedSession

Key = TypeVar("Key")
Value = TypeVar("Value")


class OpenCall(msgspec.Struct, array_like=True, gc=False):
    """A call whose result has not been read.

    ``key`` is a hash of the tool and its arguments, ``seq`` the seq after that of the call.
    ``commit`` is the subject of the commit that the call makes, "" if the call names none, and None
    if it makes no commit. ``plan`` is the heading of the plan that the call shows.
    """

    tool: str | None
    key: int | None
    ts: int | None
    is_shell: bool
    is_test: bool
    is_edit: bool
    seq: int = 0
    commit: str | None = None
    plan: str | None = None


class Response(msgspec.Struct, array_like=True, gc=False):
    """A recent model response: the seq of its last block, and its output tokens."""

    id: str
    seq: int
    output: int


class PathPrompt(msgspec.Struct, array_like=True, gc=False):
    """A prompt on the session's path. ``parent`` is the seq of the event before it."""

    seq: int
    parent: int | None
    uid: str
    ordinal: int | None = None


class OpenMessage(msgspec.Struct, array_like=True, gc=False):
    """The last message. Its record begins at the byte ``place`` and ends at ``end``. The next
    record may continue the message."""

    seq: int
    source_id: int
    place: int
    end: int
    text: str


class Completion(msgspec.Struct, array_like=True, gc=False):
    """An answer that ends its turn unless the agent continues. ``marks`` are its other marks."""

    seq: int
    marks: str


class QueuedPrompt(msgspec.Struct, array_like=True, gc=False):
    """A prompt that was typed while the agent worked. ``key`` is a hash of its words."""

    seq: int
    key: str
    owned: bool


STATED_FIRST = ("repository", "repository_root")
"""Fields of `SettleState` that are set by the first record that states a fact of the same name."""

COLUMNS_STATED = ("cwd", "git_branch", "agent_version")
"""Fields of `SettleState` that are the session's column of the same name. If no record of the log
stated the value, a document beside the log may state it as a fact."""


class SettleState(msgspec.Struct, array_like=True):
    """All that the next record of a session needs to know about the records before it.

    - ``head``: the seq of the event that is the parent of the next one
    - ``head_is_logged``: the log itself names the head
    - ``failed``: for each tool, the keys of calls that failed, and whether each was a test run
    - ``completions``: the last answer, if it ends the turn unless the agent continues. The key is
      False for the session itself and True for its sidechains
    - ``modes``: the last mode of the agent, by native kind
    - ``hidden``: records without events that are parents of others, each with its own parent
    - ``summaries``: summaries whose leaf was not read yet
    - ``answers``: seqs of answers whose usage is not known yet
    - ``outcomes``: outcomes whose result was not read yet, by call id
    - ``queued``: prompts that may be logged a second time, when the agent gets them
    - ``prompts_forgotten``: how many earlier prompts on the path are no longer in ``prompts``
    - ``task_branch``, ``task_prompt``, ``task_pull``, ``task_commit``: the issue or pull request
      that branches, prompts, the agent and commits name
    - ``commit``: the subject of the first commit that says something
    - ``is_plan``: ``first_prompt`` is the heading of a plan that the person accepted
    - ``planned``: the heading of the last plan that was accepted here, ``is_carried_out``: edits
      came after it
    - ``in_turn``: a prompt came, and the agent has not logged the end of its turn
    - ``open_ms``: the time between the records of this turn, ``last_gap`` the last part of it,
      ``unlogged_ms`` the sum over earlier turns of which the agent logged no duration
    - ``reported_costs``: what the agent last wrote that the session cost, by the fact's name
    - ``has_variants``: some records have the native id of another record, but other content
    """

    next_seq: int = 0
    head: int | None = None
    open_calls: dict[str, OpenCall] = {}
    failed: dict[str, dict[int, bool]] = {}
    responses: list[Response] = []
    completions: dict[bool, Completion] = {}
    after_interrupt: bool = False
    modes: dict[str, str] = {}
    hidden: list[tuple[str, int | None]] = []
    custom_title: str | None = None
    ai_title: str | None = None
    agent_name: str | None = None
    summary: str | None = None
    summaries: list[tuple[str, str]] = []
    first_prompt: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    agent_version: str | None = None
    model: str | None = None
    first_ts: int | None = None
    last_ts: int | None = None
    turn_ms: int = 0
    active_ms: int = 0
    turns: int = 0
    retries: int = 0
    event_count: int = 0
    branched: bool = False
    side_responses: list[Response] = []
    last_prompt: int = 0
    prompts: list[PathPrompt] = []
    prompts_forgotten: int = 0
    answers: list[int] = []
    outcomes: dict[str, CallOutcome] = {}
    message: OpenMessage | None = None
    head_is_logged: bool = False
    has_variants: bool = False
    repository: str | None = None
    repository_root: str | None = None
    queued: list[QueuedPrompt] = []
    task_branch: str | None = None
    task_prompt: str | None = None
    task_pull: str | None = None
    task_commit: str | None = None
    commit: str | None = None
    is_plan: bool = False
    open_ms: int = 0
    last_gap: int = 0
    unlogged_ms: int = 0
    in_turn: bool = False
    planned: str | None = None
    is_carried_out: bool = False
    reported_costs: dict[str, dict[str, int]] = {}

    def count(self, event: NativeEvent) -> None:
        """Add a settled event, which the session owns, to the sums."""
        self.event_count += 1

    def set_sums(self, row: CollectedSession) -> None:
        """Copy the sums to the columns of the session."""
        row.turns, row.retries = self.turns, self.retries
        row.wall_clock_ms, row.event_count = self.wall_clock_ms, self.event_count

    def title(self, from_documents: str | None, *, is_subagent: bool = False) -> str | None:
        """The title a person gave, else the agent's, else what the work was.

        The agent makes its title from the first prompt. If that says nothing about the work ("Sync
        main"), the subject of a commit or the heading of a plan is the title.

        The work is named by the plan that the session began with, else by its first commit that
        says something, else by the plan that it made, else by the first prompt that says something.
        """
        planned = self.planned
        if planned is not None and not self.is_carried_out:
            planned = f"Plan: {planned}"
        work = self.first_prompt if self.is_plan else self.commit or planned or self.first_prompt
        name = self.agent_name
        if name and is_subagent and self.first_prompt and " " not in name:
            # A nickname says nothing about the task.
            name = f"{name}: {self.first_prompt}"
        guess = self.ai_title
        if guess and is_weak(guess):
            guess = self.commit or planned or guess
        return self.custom_title or guess or name or from_documents or self.summary or work

    def task(self, branch: str | None) -> str | None:
        """The task that the session works on, such as an issue.

        It is the task that a branch names, else the one that a prompt, the agent's pull request or
        a commit names, in this order. ``branch`` is the last branch of the session.
        """
        return (
            self.task_branch
            or task_in_branch(branch)
            or self.task_prompt
            or self.task_pull
            or self.task_commit
        )

    @property
    def wall_clock_ms(self) -> int:
        """The turns' own durations where the agent logs them, else the time between records.

        Some agents log the durations of long turns only. For each other turn, the time between its
        records counts.
        """
        if not self.turn_ms:
            return self.active_ms
        return self.turn_ms + self.unlogged_ms + self.open_ms


def with_room(entries: dict[Key, Value], limit: int) -> dict[Key, Value]:
    """``entries``, without the oldest entry when there are ``limit`` of them already."""
    if len(entries) >= limit:
        del entries[next(iter(entries))]
    return entries
