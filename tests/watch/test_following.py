"""A watch follows: what agents do to their files is in the store, once, without being asked."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from crush_home import CrushProject
from hostile.logs import append, encoded, fork, log, rounds, subagent, user, uuid

from .conftest import Memory
from .watching import Watching, until

Watch = Callable[..., Watching]
S, T = uuid("session"), uuid("other session")


def uid(session: str) -> str:
    return f"claude:{session}"


def test_a_line_that_is_appended_is_in_the_store(memory: Memory, watch: Watch) -> None:
    path = log(memory.root, S, rounds(S, 2))
    following = watch()
    append(path, [user(S, 8, "is anybody there?")])
    changed = following.has_events(uid(S), 9)
    assert (changed["new_events"], changed["is_new"], changed["repo"]) == (1, False, "app")
    assert memory.summaries(uid(S))[-1] == "is anybody there?"
    memory.assert_as_if_synced_once()


@pytest.mark.only("sqlite")
def test_a_line_arrives_when_it_is_whole(memory: Memory, watch: Watch) -> None:
    path = log(memory.root, S, rounds(S, 1))
    following = watch()
    line = encoded(user(S, 4, "in two pieces"))
    with path.open("ab") as file:
        file.write(line[:40])
        file.flush()
        following.until(lambda said: said["event"] == "synced" and said["bytes"] == 40)
        assert len(memory.summaries(uid(S))) == 4
        file.write(line[40:])
    following.has_events(uid(S), 5)
    memory.assert_as_if_synced_once()


def test_a_new_log_is_found_wherever_it_appears(memory: Memory, watch: Watch) -> None:
    log(memory.root, S, rounds(S, 1))
    following = watch()
    log(memory.root, T, rounds(T, 1))
    following.has_events(uid(T), 4)
    deep = uuid("elsewhere")
    log(memory.root, deep, rounds(deep, 1), project=".claude/projects/-a-new-project")
    following.has_events(uid(deep), 4)
    subagent(memory.root, S, "a1", rounds(f"{S}a1", 1))
    following.has_events(uid(f"{S}:a1"), 4)
    memory.assert_as_if_synced_once()


@pytest.mark.only("sqlite")
def test_an_agent_that_is_installed_later_is_followed(
    memory: Memory, watch: Watch, home: Path
) -> None:
    """No root exists when the watch begins, and the home itself is not watched."""
    following = watch(root=None)
    assert not any(root["exists"] for root in following.said[0]["roots"])
    log(home, S, rounds(S, 1))
    following.has_events(uid(S), 4)
    append(home / f".claude/projects/-work-app/{S}.jsonl", [user(S, 4)])
    following.has_events(uid(S), 5)


@pytest.mark.only("sqlite")
def test_a_database_outside_of_its_agents_root_is_followed(
    memory: Memory, watch: Watch, tmp_path: Path
) -> None:
    made = CrushProject(tmp_path / "project")
    session = made.session()
    made.prompt(session, "mend it")
    listed = memory.root / ".local/share/crush/projects.json"
    listed.parent.mkdir(parents=True)
    project = {"path": str(made.project), "data_dir": str(made.path.parent)}
    listed.write_text(json.dumps({"projects": [project]}))
    following = watch()
    following.has_events("crush:s-1", 1)
    made.prompt(session, "and the other one")
    following.has_events("crush:s-1", 2)
    made.close()


@pytest.mark.only("sqlite")
def test_a_root_may_vanish_and_come_back(memory: Memory, watch: Watch) -> None:
    log(memory.root, S, rounds(S, 1))
    following = watch()
    since = len(following.said)
    memory.root.rename(memory.root.with_name("away"))
    log(memory.root, T, rounds(T, 1))
    following.has_events(uid(T), 4)
    # Watching begins anew: what is there now is another directory than before.
    following.until(lambda said: said["event"] == "synced" and said["whole"], since)
    append(memory.root / f".claude/projects/-work-app/{T}.jsonl", [user(T, 4)])
    following.has_events(uid(T), 5)
    assert len(memory.summaries(uid(S))) == 4


@pytest.mark.only("sqlite")
def test_a_log_that_rotates_is_read_on_without_doubling(memory: Memory, watch: Watch) -> None:
    path = log(memory.root, S, rounds(S, 2))
    following = watch()
    path.rename(path.with_name(f"{T}.jsonl"))
    log(memory.root, S, rounds(S, 1, start=8))
    following.has_events(uid(S), 12)
    memory.assert_as_if_synced_once(past=True)
    assert len(memory.summaries(uid(S))) == 12


def test_a_log_that_is_rewritten_in_place_is_read_again(memory: Memory, watch: Watch) -> None:
    path = log(memory.root, S, rounds(S, 2))
    following = watch()
    new = path.with_suffix(".new")
    new.write_bytes(b"".join(map(encoded, rounds(S, 2) + rounds(S, 1, start=40))))
    new.replace(path)
    following.has_events(uid(S), 12)
    path.write_bytes(b"".join(map(encoded, rounds(S, 1, start=80))))
    following.has_events(uid(S), 16)
    memory.assert_as_if_synced_once(past=True)


def test_a_log_that_vanishes_keeps_its_session_and_may_come_back(
    memory: Memory, watch: Watch
) -> None:
    path = log(memory.root, S, rounds(S, 1))
    following = watch()
    path.unlink()
    following.until(lambda said: said["event"] == "synced" and said["vanished"] == 1)
    assert len(memory.summaries(uid(S))) == 4
    log(memory.root, S, rounds(S, 2))
    following.has_events(uid(S), 8)
    memory.assert_as_if_synced_once()


@pytest.mark.only("sqlite")
def test_a_directory_may_be_moved_away_and_back_with_all_it_holds(
    memory: Memory, watch: Watch
) -> None:
    path = log(memory.root, S, rounds(S, 1))
    log(memory.root, T, rounds(T, 1))
    following = watch()
    away = memory.root.parent / "away"
    path.parent.rename(away)
    following.until(lambda said: said["event"] == "synced" and said["vanished"] == 2)
    away.rename(path.parent)
    append(path, [user(S, 4)])
    following.has_events(uid(S), 5)
    memory.assert_as_if_synced_once()


@pytest.mark.only("sqlite")
def test_files_that_are_no_logs_keep_nothing_from_being_found(memory: Memory, watch: Watch) -> None:
    """An agent's directory is full of them, and they change all the time."""
    log(memory.root, S, rounds(S, 1))
    following = watch()
    noisy = [memory.root / ".claude" / name for name in ("debug.txt", "history.bin", "x.lock")]
    for number in range(9):
        for path in noisy:
            path.write_text(f"{number}")
        session = uuid("among the noise", number)
        log(memory.root, session, rounds(session, 1))
        following.has_events(uid(session), 4)
    memory.assert_as_if_synced_once()


@pytest.mark.only("sqlite")
def test_a_log_below_a_linked_directory_is_followed(
    memory: Memory, watch: Watch, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    projects = memory.root / ".claude" / "projects"
    projects.mkdir(parents=True)
    (projects / "-work-app").symlink_to(elsewhere)
    (projects / "-loop").symlink_to(projects)
    path = log(memory.root, S, rounds(S, 1))
    following = watch()
    append(path, [user(S, 4)])
    following.has_events(uid(S), 5)
    append(elsewhere / path.name, [user(S, 5)])
    following.has_events(uid(S), 6)


@pytest.mark.only("sqlite")
def test_a_name_that_is_no_utf_8_is_followed_too(memory: Memory, watch: Watch) -> None:
    folder = memory.root / ".claude" / "projects" / "-work-app"
    folder.mkdir(parents=True)
    path = Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe.jsonl"))
    path.write_bytes(encoded(user(S, 0)))
    following = watch()
    append(path, [user(S, 1)])
    following.has_events(uid(S), 2)


@pytest.mark.only("sqlite")
def test_what_the_configuration_leaves_out_is_left_out(
    memory: Memory, watch: Watch, tmp_path: Path
) -> None:
    secret = ".claude/projects/-work-secret"
    path = log(memory.root, S, rounds(S, 1), project=secret)
    watch().stop()
    config = tmp_path / "config.toml"
    config.write_text(f'{config.read_text()}[exclude]\nrepos = ["secret"]\n')
    following = watch()
    append(path, [user(S, 4)])
    log(memory.root, uuid("too"), rounds(uuid("too"), 1), project=secret)
    log(memory.root, T, rounds(T, 1))
    following.has_events(uid(T), 4)
    assert len(memory.summaries(uid(S))) == 4
    assert memory.summaries(uid(uuid("too"))) == []


def test_a_fork_written_beside_its_origin_counts_once(memory: Memory, watch: Watch) -> None:
    path = log(memory.root, S, rounds(S, 2))
    following = watch()
    branch = log(memory.root, T, fork(rounds(S, 2), T) + rounds(T, 1, start=90))
    following.has_events(uid(T), 4)
    append(path, rounds(S, 1, start=8))
    append(branch, rounds(T, 1, start=94))
    following.has_events(uid(S), 12)
    following.has_events(uid(T), 8)
    memory.assert_as_if_synced_once()


def test_bad_lines_and_unreadable_files_are_told_as_problems(memory: Memory, watch: Watch) -> None:
    path = log(memory.root, S, rounds(S, 1))
    following = watch()
    with path.open("ab") as file:
        file.write(b"no json at all\n")
    problem = following.until(lambda said: said["event"] == "problem")
    assert (problem["path"], problem["reason"]) == (str(path), "malformed line")
    assert problem["place"] == path.stat().st_size - len("no json at all\n")
    (path.parent / f"{T}.jsonl").symlink_to(memory.root / "nowhere")
    following.until(lambda said: said["event"] == "problem" and said["reason"] == "unreadable")


def test_many_logs_that_change_at_once_all_arrive(
    memory: Memory, watch: Watch, database: str
) -> None:
    count = {"sqlite": 100, "postgresql": 40}[database]
    sessions = [uuid("many", number) for number in range(count)]
    paths = {session: log(memory.root, session, rounds(session, 1)) for session in sessions}
    following = watch()
    for n in (4, 5):
        for session, path in paths.items():
            append(path, [user(session, n)])
        for session in sessions:
            following.has_events(uid(session), n + 1)
    memory.assert_as_if_synced_once()


@pytest.mark.only("sqlite")
def test_polling_follows_as_well(memory: Memory, watch: Watch) -> None:
    path = log(memory.root, S, rounds(S, 1))
    following = watch("--poll", caught_up=False)
    following.has_events(uid(S), 4)
    append(path, [user(S, 4)])
    following.has_events(uid(S), 5)
    log(memory.root, T, rounds(T, 1))
    following.has_events(uid(T), 4)
    assert following.said[0]["polling"] == "as asked"
    memory.assert_as_if_synced_once()


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("words", [(), ("--poll",)])
def test_a_store_that_is_deleted_or_replaced_is_noticed(
    words: tuple[str, ...], memory: Memory, watch: Watch
) -> None:
    """What was written into the deleted file would be lost; the logs are read again instead."""
    path = log(memory.root, S, rounds(S, 1))
    following = watch(*words)
    store = Path(memory.place)
    shutil.copy(store, store.with_name("kept.db"))
    for file in store.parent.glob("memory.db*"):
        file.unlink()
    append(path, [user(S, 4)])
    until(lambda: store.exists() and len(memory.summaries(uid(S))) == 5, "a new store")
    store.with_name("kept.db").replace(store)
    until(lambda: len(memory.summaries(uid(S))) == 5, "the same in the one put there")
    following.stop()
    memory.assert_as_if_synced_once()
