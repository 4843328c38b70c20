"""Forgetting one of many sessions in one log: what is blanked, what stays, and what it costs."""

import json

import pytest
from keeping import LATER, Keeper, talk

from session_memory.derive import raw_source
from session_memory.retain.forget import forget
from session_memory.testing.claude import ClaudeLog, line_of
from session_memory.testing.collecting import check_sound, contents, events_of, rebuilt

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

SECRET = "xylophone-quartet-zanzibar"


def crowded(keeper: Keeper, sessions: int, *, same_response: bool = False) -> ClaudeLog:
    """A log in which each of ``sessions`` sessions has one prompt and one answer."""
    log = talk(keeper.claude.session("s0"), "the words of number 0")
    first = [json.loads(line) for line in log.lines]
    for number in range(1, sessions):
        for place, record in enumerate(first):
            words = f"the words of number {number} {SECRET if number == 1 else ''}"
            message = record["message"] | {"content": words}
            if "id" in message and not same_response:
                message["id"] = f"msg_{number}"
            same = {"uuid": f"u{number}-{place}", "sessionId": f"s{number}", "message": message}
            above = {"parentUuid": f"u{number}-{place - 1}" if place else None}
            log.raw(line_of(record | same | above))
    keeper.collect()
    assert keeper.store.sessions.count() == sessions
    return log


def test_the_others_stay_as_they_are(keeper: Keeper) -> None:
    crowded(keeper, 6)
    before = contents(keeper.store)
    done = forget(keeper.store, keeper.config, ["claude:s1"], LATER)
    assert done.proof.found == [] and done.proof.samples > done.proof.held_by_others
    raw = b"".join(b"".join(keeper.store.raw.pieces(r.id)) for r in keeper.store.sources.every())
    assert SECRET.encode() not in raw
    assert len(events_of(keeper.store, "claude:s2")) == 2
    check_sound(keeper.store)
    after = contents(keeper.store)
    assert after != before
    assert contents(rebuilt(keeper.store)) == after
    keeper.collect()
    assert contents(keeper.store) == after


@pytest.mark.parametrize("same_response", [False, True])
def test_it_reads_the_log_as_often_whether_few_sessions_share_it_or_many(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch, same_response: bool
) -> None:
    crowded(keeper, 30, same_response=same_response)
    reads, real = [0], raw_source.records_of

    def counted(*arguments: object) -> object:
        reads[0] += 1
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(raw_source, "records_of", counted)
    forget(keeper.store, keeper.config, ["claude:s1"], LATER)
    assert reads[0] <= 5
    after = contents(keeper.store)
    assert contents(rebuilt(keeper.store)) == after


@BOTH
def test_problems_of_its_lines_go_and_those_of_others_stay(keeper: Keeper) -> None:
    log = crowded(keeper, 3)
    lines = log.data.splitlines()
    wrong = [json.loads(line) for line in (lines[1], lines[3])]
    for place, record in enumerate(wrong):
        record["uuid"] = f"wrong-{place}"
        record["message"] |= {"id": f"msg_wrong_{place}", "usage": {"output_tokens": -7}}
        log.raw(line_of(record))
    keeper.collect()
    assert len(keeper.store.problems.every()) == 2
    forget(keeper.store, keeper.config, ["claude:s1"], LATER)
    (left,) = keeper.store.problems.every()
    (row,) = keeper.store.sources.every()
    assert b"wrong-0" in b"".join(keeper.store.raw.pieces(row.id, left.place, left.place + 900))
