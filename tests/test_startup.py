"""What a command does not load. Modules are most of the time that a short command takes."""

import subprocess
import sys
from pathlib import Path

import pytest

from session_memory.adapters.registry import DECLARED_BY, agents
from session_memory.store.store import open_store

LIST = "import sys; sys.stderr.write(' '.join(['modules:', *sys.modules]))"
START = f"import atexit; atexit.register(lambda: exec({LIST!r}));"
START += "from session_memory.start import main; main()"
# Terminals, servers and other databases; compressed files and text differences.
HEAVY = {"rich", "pygments", "psycopg", "http.client", "asyncio", "lzma", "difflib", "hyperscan"}
HEAVY |= {
    "session_memory.learn.analyze",
    "session_memory.web.server",
    "session_memory.collect.sync",
}
NO_COMMAND_LINE = HEAVY | {"click", "session_memory.cli", "shutil", "tomllib", "socket"}

# What reads, settles and writes, and what only some agents need.
FOR_NEWS = {
    "session_memory.collect.reading",
    "session_memory.collect.batch_writing",
    "session_memory.derive.ingest",
    "session_memory.derive.settle",
    "session_memory.derive.derivation",
    "session_memory.derive.reindex",
    "session_memory.retain.forget",
    "session_memory.views.figure_renewal",
    "session_memory.adapters.crush.tables",
    "session_memory.adapters.editor_tasks.translate",
    "tempfile",
    "shutil",
}
PLACE = ".session-memory/memory.db"

pytestmark = pytest.mark.only("sqlite")


def loaded(home: Path, *args: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", START, *args],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
        cwd=home,
        input="{}",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "modules:" in done.stderr, done.stderr
    return set(done.stderr.partition("modules:")[2].split())


@pytest.mark.parametrize(
    ("command", "without"),
    [
        (("statusline",), NO_COMMAND_LINE | {"session_memory.adapters.codex"}),
        (("statusline", "--store", PLACE), NO_COMMAND_LINE),
        (("sessions",), HEAVY | {"session_memory.adapters.kimi"}),
        # Nothing is found here, so similar words are looked for.
        (("search", "webhook"), HEAVY - {"difflib", "lzma"} | {"session_memory.adapters.kimi"}),
    ],
)
def test_a_quick_command_loads_nothing_that_it_does_not_need(
    command: tuple[str, ...], without: set[str], tmp_path: Path
) -> None:
    place = tmp_path / ".session-memory" / "memory.db"
    place.parent.mkdir(mode=0o700)
    open_store(place).close()
    assert loaded(tmp_path, *command) & without == set()


def test_a_sync_that_finds_nothing_new_loads_nothing_that_reads_or_writes(tmp_path: Path) -> None:
    log = tmp_path / ".claude" / "projects" / "-x" / "one.jsonl"
    log.parent.mkdir(parents=True)
    message = '"message":{"role":"user","content":"hello"}'
    log.write_text(f'{{"type":"user","uuid":"a","sessionId":"one","cwd":"/x",{message}}}\n')
    assert loaded(tmp_path, "sync") >= FOR_NEWS - {
        "session_memory.retain.forget",
        "session_memory.adapters.crush.tables",
        "session_memory.adapters.editor_tasks.translate",
        "session_memory.derive.reindex",
    }
    assert loaded(tmp_path, "sync") & FOR_NEWS == set()


def test_the_registry_knows_which_of_our_adapters_declare_something() -> None:
    for name, known in DECLARED_BY.items():
        assert {one.flavor for one in agents() if getattr(one, name)} == known


def started(home: Path, code: str, *args: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", f"{code}; from session_memory.start import main; main()", *args],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


AT_EXIT = "import atexit, sys; atexit.register(lambda: sys.stdout.write('at the end\\n'))"


@pytest.mark.parametrize(
    ("command", "status"), [(("--version",), 0), (("version",), 0), (("nosuch",), 2)]
)
def test_the_quick_end_keeps_the_status_and_all_output(
    command: tuple[str, ...], status: int, tmp_path: Path
) -> None:
    done = started(tmp_path, AT_EXIT, *command)
    assert done.returncode == status
    assert done.stdout.endswith("at the end\n")
    assert ("session-memory" in done.stdout) == (not status)
    assert ("no such command" in done.stderr) == bool(status)


def test_a_process_with_another_thread_waits_for_it(tmp_path: Path) -> None:
    code = (
        "import sys, threading;"
        "work = lambda: (threading.main_thread().join(), sys.stdout.write('work done\\n'));"
        "threading.Thread(target=work).start()"
    )
    done = started(tmp_path, code, "--version")
    assert (done.returncode, done.stdout.endswith("work done\n")) == (0, True)


def test_an_interruption_while_modules_are_imported_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})"
    done = started(tmp_path, code, "sessions")
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-"])
def test_a_standard_stream_that_is_closed_is_no_failure(closed: str, tmp_path: Path) -> None:
    command = f'exec "$0" -m session_memory --store {tmp_path / "demo.db"} demo {closed}'
    done = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable],
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        timeout=60,
    )
    assert done.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a full device")
def test_output_that_cannot_be_written_is_not_a_success(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "session_memory", "--help"],
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
        )
    assert done.returncode != 0
