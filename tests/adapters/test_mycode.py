"""mycode: logs written by the real package, releases 0.4.2 and 0.21.0, and what it showed of them.

``VISIBLE.json`` beside each is what the package itself gave when it loaded the session.
"""

import json
import shutil
from pathlib import Path

import pytest

from session_memory.adapters.mycode import AGENT as adapter
from session_memory.adapters.mycode.visible import Visible
from session_memory.core.schema import SessionEvent
from session_memory.store.store import Store
from session_memory.testing.adapters import AdapterContract
from session_memory.testing.collecting import check_sound, collect, collected, events_of, usage_of

SAMPLES = Path(__file__).parent.parent / "data" / "mycode"
OLD, NEW = "0.4.2", "0.21.0"
UIDS = {OLD: f"mycode:{'a0' * 16}", NEW: f"mycode:{'b1' * 16}"}
UNKNOWN = b'{"role": "moon", "content": [{"type": "phase", "full": true}]}\n'


class MycodeContract(AdapterContract):
    adapter = adapter
    unknown = UNKNOWN


class TestTheOldRelease(MycodeContract):
    samples = SAMPLES / OLD / "home"


class TestTheNewRelease(MycodeContract):
    samples = SAMPLES / NEW / "home"


@pytest.fixture(params=[OLD, NEW])
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def read(release: str) -> tuple[Store, list[SessionEvent]]:
    store = collected(SAMPLES / release / "home", flavor="mycode")
    return store, events_of(store, UIDS[release])


def test_what_a_rewind_took_back_is_marked_and_nothing_else(release: str) -> None:
    store, events = read(release)
    with store:
        check_sound(store)
    left = [event.summary for event in events if event.branch]
    assert left == ["kiln.py", "Wrote kiln.py", "The wrong way.", "forget that"]


def test_what_is_left_is_what_the_program_shows(release: str) -> None:
    store, events = read(release)
    with store:
        kept = [e for e in events if e.branch is None and e.native_kind != "rewind"]
    visible = json.loads((SAMPLES / release / "VISIBLE.json").read_text())
    shown = [
        block.get("text") or block.get("id") or block["tool_use_id"]
        for message in visible
        for block in message["content"]
        if not message.get("meta", {}).get("synthetic")
    ]
    texts = [e.call_id or e.summary for e in kept]
    # Up to 0.4 what stands before the summary was not shown any more, and it is not taken back.
    assert texts[-len(shown) :] == shown


def test_cached_tokens_are_counted_apart_in_both_releases(release: str) -> None:
    store, _ = read(release)
    with store:
        used = usage_of(store, UIDS[release])
        session = store.sessions.get(UIDS[release])
    assert session is not None
    # Eight answers, the wrong one among them, and the summary: each was paid for.
    assert len(used) == 8
    assert [usage.input_tokens for usage in used if usage.output_tokens < 50] == [
        *(10, 20, 30, 40, 50, 60, 70)
    ]
    assert session.cost.cache_read_tokens == 800
    assert session.cost.cache_write_tokens == 160


def test_calls_results_and_tests_are_told_apart(release: str) -> None:
    store, events = read(release)
    with store:
        session = store.sessions.get(UIDS[release])
    assert session is not None
    assert (session.cwd, session.title) == (
        "/home/mira/code/kiln",
        "make the kiln report its temperature",
    )
    kinds = [event.kind for event in events]
    assert kinds.count("test_run") == 1 and kinds.count("edit") == 2
    failed = next(event for event in events if event.kind == "error")
    assert (failed.exit_code, failed.tool) == (1, "bash")


def test_a_log_that_grows_gives_the_same_as_one_read_at_once(release: str, tmp_path: Path) -> None:
    log = next((SAMPLES / release / "home").rglob("messages.jsonl"))
    target = tmp_path / ".mycode" / "sessions" / log.parent.name / "messages.jsonl"
    target.parent.mkdir(parents=True)
    whole = log.read_bytes().splitlines(keepends=True)
    with collected(tmp_path, flavor="mycode") as growing:
        for count in range(1, len(whole) + 1):
            target.write_bytes(b"".join(whole[:count]))
            collect(growing, tmp_path, flavor="mycode")
        with collected(tmp_path, flavor="mycode") as once:
            assert growing.fingerprint() == once.fingerprint()


@pytest.mark.parametrize("document_first", [False, True])
def test_a_session_whose_messages_have_no_times_has_those_of_its_document(
    tmp_path: Path, document_first: bool
) -> None:
    folder = tmp_path / ".mycode" / "sessions" / "kiln"
    folder.mkdir(parents=True)
    meta = {
        "cwd": "/src/kiln",
        "message_format_version": 5,
        "created_at": "2026-03-02T09:00:00+00:00",
        "updated_at": "2026-03-02T09:30:00+00:00",
    }
    answer = {"role": "assistant", "content": [], "meta": {"usage": {"input_tokens": 5}}}
    rewind = {"role": "rewind", "meta": {"rewind_to": 0, "created_at": "2026-03-02T09:20:00Z"}}
    files = {"meta.json": json.dumps(meta), "messages.jsonl": json.dumps(answer) + "\n"}
    with collected(tmp_path, flavor="mycode") as store:
        for name in sorted(files, reverse=not document_first):
            (folder / name).write_text(files[name])
            collect(store, tmp_path, flavor="mycode")
        before = store.sessions.get("mycode:kiln")
        with (folder / "messages.jsonl").open("a") as log:
            log.write(json.dumps(rewind) + "\n")
        collect(store, tmp_path, flavor="mycode")
        after = store.sessions.get("mycode:kiln")
        check_sound(store)
    assert before is not None and after is not None
    assert before.started_at == after.started_at == "2026-03-02T09:00:00.000Z"
    assert before.ended_at == "2026-03-02T09:30:00.000Z"


def test_a_bad_line_does_not_shift_what_a_rewind_means(tmp_path: Path) -> None:
    """mycode passes over a line it cannot read, so it has no number in the list it shows."""
    directory = tmp_path / ".mycode" / "sessions" / "shifted"
    directory.mkdir(parents=True)
    blocks = [[{"type": "text", "text": letter}] for letter in "abc"]
    said = [json.dumps({"role": "user", "content": content}) for content in blocks]
    lines = [said[0], "{torn", said[1], said[2], '{"role": "rewind", "meta": {"rewind_to": 2}}']
    (directory / "messages.jsonl").write_text("\n".join(lines) + "\n")
    with collected(tmp_path, flavor="mycode") as store:
        events = events_of(store, "mycode:shifted")
    assert {event.summary for event in events if event.branch} == {"c"}


def test_a_home_of_another_name_is_found(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / NEW / "home" / ".mycode", tmp_path / "elsewhere")
    (root,) = adapter.roots({"MYCODE_HOME": str(tmp_path / "elsewhere")}, tmp_path)
    (usual,) = adapter.discover(SAMPLES / NEW / "home")
    (found,) = adapter.discover(root)
    assert found.home_path == usual.home_path
    assert [ref.home_path for ref in found.companions] == [
        ref.home_path for ref in usual.companions
    ]


@pytest.mark.parametrize(("to", "kept"), [(0, 0), (2, 2), (9, 5), (-1, 4), (-9, 0)])
def test_a_place_in_the_list_is_counted_as_the_program_does(to: int, kept: int) -> None:
    visible, plain = Visible(), list(range(1, 3)) + list(range(5, 8))
    for line in plain:
        visible.add(line)
    visible.cut(to)
    assert len(visible) == kept
    assert visible.last == (plain[:to][-1] if plain[:to] else None)
    assert len(visible.runs) <= 2


def test_a_rewind_to_no_number_moves_nothing(tmp_path: Path) -> None:
    directory = tmp_path / ".mycode" / "sessions" / "odd"
    directory.mkdir(parents=True)
    (directory / "messages.jsonl").write_text(
        '{"role": "user", "content": [{"type": "text", "text": "stay"}]}\n'
        '{"role": "rewind", "meta": {"rewind_to": "0"}}\n'
    )
    with collected(tmp_path, flavor="mycode") as store:
        assert [event.branch for event in events_of(store, "mycode:odd")] == [None, None]
