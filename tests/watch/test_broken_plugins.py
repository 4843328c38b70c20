"""A watch follows everybody else while plugins are broken, and names the broken ones.

The plugins are real packages on the path of the process that watches.
"""

import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile.logs import append, log, rounds, user, uuid

from .conftest import Memory
from .watching import Said, Watching

on_sqlite = pytest.mark.only("sqlite")
Watch = Callable[..., Watching]
S = uuid("session")
CLAUDE = f"claude:{S}"
TOY = Path(__file__).parents[1] / "collect" / "toy.py"
LINE = '{"events":[{"kind":"user_msg","role":"user","summary":"%s"}],"native_id":"%s"}\n'

# A toy that does what a file beside its logs says, each time it is asked for its sources.
CHANGING = """
import msgspec, toy
from pathlib import Path

def discover(root):
    said = root / "mood"
    match said.read_text() if said.exists() else "":
        case "ends the program":
            raise SystemExit(3)
        case "finds nonsense":
            return ["one.toy"]
        case "is excited":
            raise type("Excited", (BaseException,), {})
    return toy.discover(root)

AGENT = msgspec.structs.replace(toy.AGENT, discover=discover)
"""


@pytest.fixture(autouse=True)
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    information = site / "plugins-1.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: plugins\nVersion: 1\n")
    (information / "entry_points.txt").write_text(
        "[session_memory.adapters]\n"
        "toy = changing\n"
        "exiting = exiting\n"
        "untyped = untyped:AGENT\n"
        "claude = changing\n"
    )
    shutil.copy(TOY, site / "toy.py")
    (site / "changing.py").write_text(CHANGING)
    (site / "exiting.py").write_text("raise SystemExit(3)\n")
    (site / "untyped.py").write_text(
        "import msgspec, toy\n"
        "AGENT = msgspec.structs.replace(toy.AGENT, flavor='untyped', version='1')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(site))


def is_error_about(*words: str) -> Callable[[Said], bool]:
    def is_so(said: Said) -> bool:
        if said["event"] != "error" or said["kind"] != "adapter_failed":
            return False
        return all(word in said["message"] for word in words) and bool(said["hint"])

    return is_so


def test_a_watch_starts_with_broken_plugins_and_names_each_once(
    memory: Memory, watch: Watch
) -> None:
    path = log(memory.root, S, rounds(S, 1))
    following = watch(fresh=True)
    following.until(is_error_about("the adapter of exiting failed: SystemExit: 3"))
    following.until(is_error_about("the adapter of untyped failed", "version is '1'"))
    following.until(is_error_about("the package plugins declares the adapter 'claude'"))
    append(path, [user(S, 4, "is anybody there?")])
    following.has_events(CLAUDE, 5)
    (memory.root / "one.toy").write_text(LINE % ("hello", "a"))
    following.has_events("toy:one", 1)
    errors = [said for said in following.stop() if said["event"] == "error"]
    assert len(errors) == 3, errors
    assert following.wait() == 0


@pytest.mark.parametrize(
    "mood",
    [
        "ends the program",
        *(pytest.param(m, marks=on_sqlite) for m in ("finds nonsense", "is excited")),
    ],
)
def test_a_watch_survives_a_plugin_that_breaks_later(
    mood: str, memory: Memory, watch: Watch
) -> None:
    toy, path = memory.root / "one.toy", log(memory.root, S, rounds(S, 1))
    toy.write_text(LINE % ("hello", "a"))
    following = watch(fresh=True)
    following.has_events("toy:one", 1)
    since = len(following.said)
    (memory.root / "mood").write_text(mood)
    # A new file makes the watch look at the whole root.
    other = uuid("other session")
    log(memory.root, other, rounds(other, 1))
    following.has_events(f"claude:{other}", 4)
    following.until(is_error_about("the adapter of toy failed in discover on "), since)
    problem = following.until(lambda said: said["event"] == "problem", since)
    assert "the adapter of toy failed in discover on " in problem["detail"]
    append(path, [user(S, 4, "is anybody there?")])
    following.has_events(CLAUDE, 5)
    (memory.root / "mood").write_text("")
    (memory.root / "two.toy").write_text(LINE % ("back again", "b"))
    following.has_events("toy:two", 1)
    following.stop(signal.SIGTERM)
    assert following.wait() == 0
