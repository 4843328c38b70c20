"""Transcript, diff, timeline, tree, files and commands: what the views say about sessions."""

import itertools
import json
import re
import shutil
import subprocess
import tracemalloc
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import pytest

from session_memory.core.errors import CannotResume
from session_memory.core.schema import Session
from session_memory.core.time import parse_time
from session_memory.derive.bodies import Bodies
from session_memory.learn.analyze import analyze
from session_memory.learn.digests import digest_of
from session_memory.pricing import session_amounts, tree_amounts
from session_memory.redact import mask
from session_memory.store import Store, open_store
from session_memory.testing.claude import ClaudeHome, call, text, usage
from session_memory.testing.collecting import collected as collected_from
from session_memory.views.commands import list_commands
from session_memory.views.diff import BY_COMMAND, EXCERPTS, OVERWRITTEN, diff_session
from session_memory.views.family import family
from session_memory.views.files import list_files
from session_memory.views.masking import masked
from session_memory.views.resuming import resume
from session_memory.views.stats import StatsFilter, statistics
from session_memory.views.timeline import TimelineStream, timeline
from session_memory.views.transcript import Transcript
from session_memory.views.transcript_items import (
    SessionEnd,
    SessionStart,
    TranscriptEvent,
    TranscriptOptions,
    TurnTotals,
)

from .hostile import collected

IMPORT = "claude:7ac31f58-d904-4b6e-a1f7-3c58e2b90d64"
SUBAGENT = f"{IMPORT}:a5d20c71e9b3f648d"
STATION = "claude:91d4f0a7-6b2e-4d15-8c93-e50b7a36f218"
FORK = "claude:e83b5c60-1f47-4a9d-b2c8-09d6f4e7a135"


def of(store: Store, uid: str) -> Session:
    session = store.sessions.get(uid)
    assert session is not None
    return session


def items(store: Store, uid: str, **how):
    return list(Transcript(store, TranscriptOptions(**how)).items(uid))


def pieces(store: Store, uid: str, **how) -> list[TranscriptEvent]:
    return [item for item in items(store, uid, **how) if isinstance(item, TranscriptEvent)]


@pytest.fixture(scope="module")
def kept_open() -> Iterator[dict[Path, Store]]:
    """The stores of `sampled`."""
    stores: dict[Path, Store] = {}
    yield stores
    for store in stores.values():
        store.close()


@pytest.fixture
def sampled(sample: Path, kept_open: dict[Path, Store]) -> Store:
    """The store of a sample, which is collected once: views only read it."""
    if sample not in kept_open:
        kept_open[sample] = collected_from(sample)
    return kept_open[sample]


# ---------------------------------------------------------------- the transcript


def test_every_event_is_a_piece_with_all_it_says(sampled: Store) -> None:
    for uid in sampled.sessions.uids():
        row = sampled.sessions.row(uid)
        transcript = pieces(sampled, uid, children=False, inherited=True, everything=True)
        own = [piece for piece in transcript if piece.owner is None]
        assert [piece.event for piece in own] == sampled.events.of(row.id, uid)
        assert [piece.seq for piece in transcript] == sorted(piece.seq for piece in transcript)
        assert [(p.seq, p.event) for p in transcript if p.owner] == sampled.events.inherited(row.id)
        for piece in transcript:
            if piece.sort in ("prompt", "answer"):
                assert piece.text.strip() or piece.images or not piece.event.summary


def test_every_edit_of_every_sample_is_shown_as_a_change(sampled: Store) -> None:
    for uid in sampled.sessions.uids():
        for piece in pieces(sampled, uid, children=False):
            if piece.sort == "call" and piece.event.is_a("edit") and piece.command is None:
                assert piece.changes and all(change.lines for change in piece.changes)


def test_the_turns_add_up_to_the_session(sampled: Store) -> None:
    for uid in sampled.sessions.uids():
        turns = [one for one in items(sampled, uid, children=False) if isinstance(one, TurnTotals)]
        amount = session_amounts(sampled, [uid])[uid]
        assert sum(turn.amount.microdollars for turn in turns) == amount.microdollars
        assert sum(turn.cost.output_tokens for turn in turns) == of(sampled, uid).cost.output_tokens


def test_subagents_stand_behind_the_calls_that_started_them(store: Store) -> None:
    transcript = items(store, IMPORT)
    (place,) = [
        n for n, item in enumerate(transcript) if isinstance(item, SessionStart) and item.depth == 1
    ]
    before = transcript[place - 1]
    assert isinstance(before, TranscriptEvent) and before.event.tool == "Agent"
    assert transcript[place].session.session_uid == SUBAGENT
    nested = list(
        itertools.takewhile(lambda item: not isinstance(item, SessionEnd), transcript[place + 1 :])
    )
    assert nested and all(item.depth == 1 for item in nested)
    assert [type(item) for item in transcript].count(SessionStart) == [
        type(item) for item in transcript
    ].count(SessionEnd)


def test_each_depth_shows_more_than_the_one_above(store: Store) -> None:
    seen = [
        [(p.event.session_uid, p.seq) for p in pieces(store, STATION, level=level)]
        for level in ("user", "assistant", "tool", "full")
    ]
    assert all(set(less) <= set(more) for less, more in itertools.pairwise(seen))
    assert len(seen[0]) < len(seen[1]) < len(seen[2]) == len(seen[3])
    assert len(pieces(store, STATION, everything=True)) > len(seen[3])
    assert {p.sort for p in pieces(store, STATION, level="user")} == {"prompt"}
    assert {p.sort for p in pieces(store, STATION, level="assistant")} <= {
        "prompt",
        "answer",
        "note",
    }


def test_full_depth_has_the_output_that_the_agent_keeps_apart(store: Store) -> None:
    (short,) = [p for p in pieces(store, IMPORT) if p.seq == 6 and not p.depth]
    (whole,) = [p for p in pieces(store, IMPORT, level="full") if p.seq == 6 and not p.depth]
    assert "[420/420]" not in short.text and "[420/420]" in whole.text


def test_sessions_that_claim_to_have_started_each_other_end(store: Store) -> None:
    sql = "update sessions set parent_uid = :parent, relation = 'subagent' where uid = :uid"
    with store.transaction():
        store.db.execute(sql, {"parent": SUBAGENT, "uid": IMPORT})
    opened = [item for item in items(store, IMPORT) if isinstance(item, SessionStart)]
    assert sum(not item.is_closed for item in opened) == 2
    assert len(family(store, IMPORT).root.every()) == 2
    assert timeline(store, of(store, IMPORT)).moments


def test_a_long_session_begins_at_once(run, tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home")
    log = home.session("long0000")
    log.prompt("go")
    for number in range(1200):
        log.answer(text(f"step {number}"))
    home.write()
    collected(home.path, tmp_path / "memory.db")
    with open_store(tmp_path / "memory.db") as store:
        asked: list[str] = []
        every, store.db.all = (
            store.db.all,
            lambda sql, params=None: (
                asked.append(sql),
                every(sql, params),
            )[1],
        )
        stream = Transcript(store, TranscriptOptions()).items("claude:long0000")
        first = list(itertools.islice(stream, 10))
        assert isinstance(first[0], SessionStart) and isinstance(first[-1], TranscriptEvent)
        pages = [sql for sql in asked if "from events e join sources" in sql]
        assert len(pages) == 1 and "limit 500" in pages[0]
        assert sum(1 for _ in stream) > 1190


def test_pictures_are_named_and_not_shown(run, tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home")
    log = home.session("image000")
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "A" * 4000},
    }
    log.prompt([text("look"), image])
    log.answer(text("I see."))
    home.write()
    collected(home.path, tmp_path / "memory.db")
    for words in (("show",), ("export", "--format", "markdown"), ("export", "--format", "html")):
        output = run(*words, "image000").stdout
        assert "image: image/png, 3.0 kB" in output
        assert "AAAA" not in output


# ---------------------------------------------------------------- what was changed


def test_a_diff_from_before_to_after_can_be_applied(store: Store, tmp_path: Path) -> None:
    answer = diff_session(store, of(store, IMPORT))
    (file,) = answer.files
    assert file.is_whole and not file.notes and (file.path, file.added) == ("src/dates.ts", 4)
    before = (
        "// Dates as the volunteers write them.\n\n"
        "export function harvestDate(text: string): Date {\n  return new Date(text);\n}\n"
    )
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "dates.ts").write_text(before)
    patch = answer.to_dict()["files"][0]["diff"]
    subprocess.run(["git", "apply", "-"], input=patch, text=True, cwd=tmp_path, check=True)
    assert "const german" in (tmp_path / "src" / "dates.ts").read_text()


def test_several_edits_of_one_file_are_one_diff(store: Store) -> None:
    cache, fetch = diff_session(store, of(store, STATION)).files
    assert (cache.action, cache.edits, cache.is_whole) == ("create", 4, True)
    assert cache.headers == ("--- /dev/null", "+++ b/tidewatch/cache.py")
    assert cache.removed == 0 and cache.added == len(cache.lines) - 1
    assert (fetch.action, fetch.added, fetch.removed) == ("edit", 1, 1)


@pytest.fixture
def edited(tmp_path: Path):
    """Collects a session of edits and gives what it changed."""

    def changes(*calls, failed: bool = False):
        home = ClaudeHome(tmp_path / "home", cwd="/w")
        log = home.session("edits000")
        log.prompt("go")
        for one in calls:
            log.answer(one)
            log.result("no" if failed else "done", is_error=failed)
        home.write()
        collected(home.path, tmp_path / "edits.db")
        with open_store(tmp_path / "edits.db") as store:
            return diff_session(store, of(store, "claude:edits000")).files

    return changes


def test_it_is_said_where_no_exact_diff_can_be_known(edited) -> None:
    files = edited(
        call("Edit", file_path="/w/a", old_string="1", new_string="2"),
        call("Edit", file_path="/w/a", old_string="3", new_string="4"),
        call("Write", file_path="/w/b", content="new\n"),
        call("Bash", command="sed -i s/1/2/ c.txt"),
    )
    by_path = {file.path: file for file in files}
    assert (by_path["a"].notes, by_path["a"].is_whole) == ((EXCERPTS,), False)
    assert by_path["a"].lines == ("@@", "-1", "+2", "@@", "-3", "+4")
    assert by_path["b"].notes == (OVERWRITTEN,)
    assert (by_path["c.txt"].notes, by_path["c.txt"].lines) == ((BY_COMMAND,), ())


def test_an_edit_that_failed_changed_nothing(edited) -> None:
    assert edited(call("Write", file_path="/w/a", content="x"), failed=True) == []


# ---------------------------------------------------------------- the others


def test_a_timeline_pairs_calls_with_their_results(sampled: Store) -> None:
    for session in sampled.sessions.every():
        line = timeline(sampled, session)
        tools = [moment for moment in line.moments if moment.sort == "tool"]
        events = sampled.events.of(
            sampled.sessions.row(session.session_uid).id, session.session_uid
        )
        assert len(tools) == sum(event.is_a("tool_call") for event in events)
        results = {event.call_id for event in events if event.is_a("tool_result")}
        calls = [event for event in events if event.is_a("tool_call")]
        unanswered = sum(event.call_id not in results for event in calls)
        assert sum(tool.state == "open" for tool in tools) == unanswered


def test_a_timeline_is_the_same_when_its_moments_are_made_one_by_one(sampled: Store) -> None:
    for session in sampled.sessions.every():
        whole, stream = timeline(sampled, session), TimelineStream(sampled, session)
        assert stream.span == whole.span
        assert list(stream.moments()) == list(stream.moments()) == whole.moments
        gaps = [parse_time(m.at) for m in whole.moments if m.sort == "gap"]
        assert list(stream.gaps[0]) == gaps


@pytest.mark.only("sqlite")
def test_a_stream_of_moments_leaves_out_what_arrives_meanwhile(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home")
    log = home.session("grows000")
    log.prompt("go")
    log.answer(call("Bash", command="sleep 1"))
    home.write()
    collected(home.path, tmp_path / "memory.db")
    with open_store(tmp_path / "memory.db") as store:
        stream = TimelineStream(store, of(store, "claude:grows000"))
        log.result("done")
        log.prompt("more")
        home.write()
        collected(home.path, tmp_path / "memory.db")
        assert [m.state for m in stream.moments() if m.sort == "tool"] == ["open"]
        assert [m.text for m in stream.moments() if m.sort == "prompt"] == ["go"]
        later = TimelineStream(store, of(store, "claude:grows000"))
        assert [m.state for m in later.moments() if m.sort == "tool"] == ["ok"]
        assert [m.text for m in later.moments() if m.sort == "prompt"] == ["go", "more"]


@pytest.mark.only("sqlite")
def test_a_long_timeline_needs_no_more_memory_than_a_short_one(tmp_path: Path) -> None:
    def peak(times: int) -> int:
        home = ClaudeHome(tmp_path / f"home{times}")
        log = home.session("long0000")
        for number in range(times):
            log.prompt(f"prompt {number} " + "x" * 100)
            log.answer(call("Bash", command=f"echo {number}"))
            log.result("done")
        home.write()
        collected(home.path, tmp_path / f"{times}.db")
        with open_store(tmp_path / f"{times}.db") as store:
            stream = TimelineStream(store, of(store, "claude:long0000"))
            tracemalloc.start()
            try:
                assert sum(1 for _ in stream.moments()) == 3 * times
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

    # Events are loaded in pages of 500.
    assert peak(1200) < 1.3 * peak(400)


def test_a_long_silence_is_a_gap(run, tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home")
    log = home.session("quiet000")
    log.prompt("go")
    log.answer(text("done"))
    home.clock.tick(3_600_000)
    log.prompt("again")
    log.answer(text("done again"))
    home.write()
    collected(home.path, tmp_path / "memory.db")
    with open_store(tmp_path / "memory.db") as store:
        line = timeline(store, of(store, "claude:quiet000"))
    (gap,) = [moment for moment in line.moments if moment.sort == "gap"]
    assert gap.duration_ms and 3_600_000 <= gap.duration_ms < 3_610_000
    assert [m.text for m in line.moments if m.sort == "turn"] == [
        "turn 1, 0 calls",
        "turn 2, 0 calls",
    ]


def test_a_family_is_the_same_from_every_member(store: Store) -> None:
    for members in ((IMPORT, SUBAGENT), (STATION, FORK)):
        roots = {family(store, uid).root.session.session_uid for uid in members}
        assert roots == {members[0]}
        nodes = family(store, members[1]).root.every()
        assert [node.session.session_uid for node in nodes] == list(members)
        own = session_amounts(store, members)
        total = tree_amounts(store, members)
        assert all(node.own == own[node.session.session_uid] for node in nodes)
        assert all(node.total == total[node.session.session_uid] for node in nodes)
        assert family(store, members[0]).amount.microdollars == sum(
            amount.microdollars for amount in own.values()
        )
    (branch,) = family(store, STATION).root.branches
    assert (branch.events, branch.first_seq) == (2, 24)


def test_files_are_counted_by_what_was_done_to_them(store: Store) -> None:
    listing = list_files(store, store.sessions.every())
    cache = next(row for row in listing.files if row.path == "tidewatch/cache.py")
    assert (cache.repo, cache.edits, cache.writes, cache.sessions) == ("tidewatch", 3, 2, 2)
    assert list_files(store, store.sessions.every(), limit=2).total == listing.total > 2
    by_path = list_files(store, store.sessions.every(), sort="path").files
    assert [row.path for row in by_path] == sorted(row.path for row in by_path)


def test_files_digest_and_stats_count_by_one_rule(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home", cwd="/w")
    log = home.session("counted0")
    log.prompt("go")
    for is_error in (False, True):
        for tool in ("Read", "Edit"):
            log.answer(call(tool, file_path="/w/a.py", old_string="x", new_string="y"))
            log.result("done", is_error=is_error)
    log.answer(call("Edit", file_path="/w/a.py", old_string="x", new_string="y"))
    log.answer(call("Read", file_path="/w/a.py"))
    home.write()
    collected(home.path, tmp_path / "counted.db")
    with open_store(tmp_path / "counted.db") as store:
        (row,) = list_files(store, store.sessions.every()).files
        assert (row.reads, row.edits, row.failed, row.open) == (1, 1, 2, 2)
        (counted,) = statistics(store, StatsFilter(), ("files",)).sections["files"].rows
        assert (counted.edits, counted.failed) == (row.edits, 1)
        analyze(store)
        (digested,) = digest_of(store, "claude:counted0").files
        assert (digested.reads, digested.edits) == (row.reads, row.edits)


def test_commands_have_their_ends(store: Store) -> None:
    every = list_commands(store, store.sessions.uids())
    failed = list_commands(store, store.sessions.uids(), state="failed")
    assert 0 < failed.total < every.total
    assert {ran.state for ran in failed.commands} == {"failed"}
    (tests,) = list_commands(store, [IMPORT], text="VITEST").commands
    assert (tests.state, tests.exit_code, tests.is_test) == ("ok", 0, True)


def test_only_commands_that_are_listed_are_read(store: Store, monkeypatch) -> None:
    every = list_commands(store, store.sessions.uids())
    read = []
    of_body = Bodies.of

    def counted(self: Bodies, event):
        read.append(event.event_uid)
        return of_body(self, event)

    monkeypatch.setattr(Bodies, "of", counted)
    some = list_commands(store, store.sessions.uids(), limit=2)
    assert (some.commands, some.total) == (every.commands[:2], every.total)
    assert every.total_exact and not some.total_exact and len(read) == 3
    read.clear()
    failed = list_commands(store, store.sessions.uids(), state="failed", limit=1)
    assert failed.total == sum(ran.state == "failed" for ran in every.commands) > 1
    with_text = list_commands(store, store.sessions.uids(), text="pytest", limit=1)
    assert (with_text.total, with_text.total_exact) == (2, False)


WAYS = {
    "amp": ("amp", "threads", "continue"),
    "aider": ("aider", "--restore-chat-history"),
    "claude": ("claude", "--resume"),
    "cline": ("cline", "--id"),
    "codex": ("codex", "resume"),
    "copilot": ("copilot", "--resume"),
    "cursor": ("cursor-agent", "--resume"),
    "droid": ("droid", "--resume"),
    "gemini": ("gemini", "--resume"),
    "grok": ("grok", "--resume"),
    "kimi": ("kimi", "--session"),
    "opencode": ("opencode", "--session"),
    "pi": ("pi", "--session"),
    "qwen": ("qwen", "--resume"),
    "vibe": ("vibe", "--resume"),
}


def test_every_agent_is_resumed_in_its_own_way(sampled: Store) -> None:
    for session in sampled.sessions.every():
        if session.flavor not in WAYS:
            with pytest.raises(CannotResume, match="is not known"):
                resume(sampled, session, "another machine")
            continue
        if session.relation == "subagent":
            with pytest.raises(CannotResume, match="subagent"):
                resume(sampled, session, "another machine")
            continue
        way = resume(sampled, session, "another machine")
        own = () if session.flavor == "aider" else (session.native_session_id,)
        assert way.argv == (*WAYS[session.flavor], *own)
        assert way.cwd == session.cwd and way.is_gone


@pytest.mark.parametrize("place", ["amp/thread", "cline/basic", "gemini/document", "pi/fork"])
def test_a_log_that_is_where_its_agent_looks_is_there(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log of some agents is a document."""
    shutil.copytree(Path(__file__).parents[1] / "data" / place / "home", tmp_path / "home")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with collected_from(tmp_path / "home") as store:
        for session in store.sessions.every():
            assert not resume(store, session, str(session.host)).is_gone
        shutil.rmtree(tmp_path / "home")
        for session in store.sessions.every():
            assert resume(store, session, str(session.host)).is_gone


# ---------------------------------------------------------------- what leaves


def test_every_text_of_an_export_passes_one_place(run, tmp_path: Path) -> None:
    letters = "".join(blake2b(bytes([n]), digest_size=16).hexdigest() for n in range(3))
    secret = f"sk-ant-api03-{letters[:93]}AA"
    home = ClaudeHome(tmp_path / "home")
    log = home.session("secret00")
    log.custom_title(f"with {secret}")
    log.prompt(f"use {secret}")
    log.answer(text(f"as you say: {secret}"))
    log.answer(call("Bash", command=f"{'x' * 60} export KEY={secret}"))
    log.result(f"KEY={secret}")
    log.answer(call("Edit", file_path="/w/a", old_string="x", new_string=f"key = '{secret}'"))
    log.result("ok")
    log.answer(call("Odd", **{f"token {secret}": {"deep": [secret]}}))
    log.result(f"{secret}")
    home.write()
    collected(home.path, tmp_path / "memory.db")
    for kind in ("markdown", "html", "jsonl"):
        hidden = run("export", "--format", kind, "secret00")
        assert hidden.exit_code == 0, hidden.stderr
        # Not even the beginning of it: summaries are cut in the middle of a text.
        assert secret[:20] not in hidden.stdout
        plain = run("export", "--format", kind, "secret00", "--no-redact").stdout
        assert plain.count(secret) >= 7


def test_masking_reaches_every_text_and_keeps_the_rest(store: Store) -> None:
    plain = items(store, IMPORT, level="full")
    transcript = list(masked(iter(plain), lambda words: re.sub("[a-zA-Z]", "x", words)))
    assert [type(item) for item in transcript] == [type(item) for item in plain]
    for item in transcript:
        if isinstance(item, TranscriptEvent):
            given = json.dumps(item.arguments or "").replace("\\n", "")
            said = f"{item.text}{item.title}{given}{item.command or ''}"
            assert not re.search("[a-wyzA-Z]", re.sub("true|false|null", "", said))
            assert item.event.event_uid and item.event.session_uid.startswith("claude:")
    assert list(masked(iter(plain), None)) == plain
    assert mask("nothing to hide") == "nothing to hide"


def test_each_turn_has_what_it_used(run, tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home")
    log = home.session("turns000")
    log.prompt("one")
    log.answer(text("a"), used=usage(5))
    log.prompt("two")
    log.answer(text("b"), used=usage(7))
    home.write()
    collected(home.path, tmp_path / "memory.db")
    with open_store(tmp_path / "memory.db") as store:
        turns = [item for item in items(store, "claude:turns000") if isinstance(item, TurnTotals)]
    assert [(turn.number, turn.cost.output_tokens) for turn in turns] == [(1, 5), (2, 7)]
