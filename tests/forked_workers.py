"""The workers of pytest-xdist, as forks of one process that has collected the tests.

Otherwise each worker imports all test modules and collects all tests, which takes five seconds each
time. The controller starts the process that collects. It also gives each worker this file as its
interpreter. Run like this, the file hands its pipes over and waits for the fork that got them. If
the tests could not be collected, it becomes an ordinary worker, which says why.
"""

import atexit
import gc
import json
import os
import random
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import pytest

COLLECTING = "collect"
READY = b"1"


class ForkedWorkers:
    """Starts the process that collects the tests and forks. It ends with this object's process.

    It listens in a directory that only this user may enter, because it runs what it is sent.
    """

    def __init__(self, args: Sequence[str], path: Sequence[str]) -> None:
        # The address of a socket may not be longer than 100 bytes, so TMPDIR is not used.
        place = tempfile.mkdtemp(prefix="session-memory-workers-", dir="/tmp")
        self._address = Path(place) / "address"
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(self._address))
            listening.listen(64)
            given = json.dumps([list(args), list(path)])
            self._process = subprocess.Popen(
                [sys.executable, __file__, COLLECTING, str(listening.fileno()), given],
                pass_fds=(listening.fileno(),),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
            )

    @property
    def interpreter(self) -> str:
        """A command line: what execnet starts as the Python of a worker."""
        return shlex.join([sys.executable, "-IS", __file__, str(self._address)])

    def close(self) -> None:
        self._process.communicate()
        self._address.unlink()
        self._address.parent.rmdir()


# ---------------------------------------------------------------- a worker, at first


def hand_over(address: str, words: Sequence[str]) -> None:
    """Give the pipes of this process to a fork and wait for its end."""
    with socket.socket(socket.AF_UNIX) as asking:
        is_ready = False
        with suppress(OSError):
            asking.connect(address)
            is_ready = asking.recv(1) == READY
        if not is_ready:
            os.execv(sys.executable, [sys.executable, *words])
        socket.send_fds(asking, [READY], [0, 1])
        # The controller must see the end of the pipes when the fork ends.
        os.close(0)
        os.close(1)
        asking.recv(1)


# ---------------------------------------------------------------- the process that collects


def serve(listening: socket.socket, session: "pytest.Session") -> None:
    """Fork for each connection, until the standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        ready, _, _ = select.select([listening, 0], [], [])
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if 0 in ready:
            return
        asking, _ = listening.accept()
        with asking:
            asking.sendall(READY)
            _, pipes, _, _ = socket.recv_fds(asking, 1, 2)
            if len(pipes) == 2 and os.fork() == 0:
                listening.close()
                # Its other end waits until this process ends, by whatever means.
                asking.detach()
                become_worker(session, *pipes)
            for pipe in pipes:
                os.close(pipe)


def become_worker(session: "pytest.Session", stdin: int, stdout: int) -> NoReturn:
    """Do what a new interpreter does for a worker, but with the collected tests."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    random.seed()
    for pipe, number in ((stdin, 0), (stdout, 1)):
        os.dup2(pipe, number)
        os.close(pipe)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    use_what_was_collected(session)
    # The controller sends the program of the worker in one line.
    exec(eval(sys.stdin.readline()), {"__name__": "__main__"})
    # Like the end of an interpreter, but the modules are not taken apart, which takes long.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stderr.flush()
    os._exit(0)


def use_what_was_collected(session: "pytest.Session") -> None:
    """Let the next session of pytest in this process be ``session``."""
    from _pytest import config as configuring  # noqa: PLC0415
    from _pytest.main import Session  # noqa: PLC0415
    from _pytest.tmpdir import TempPathFactory  # noqa: PLC0415

    config, path = session.config, list(sys.path)

    def prepared(*_: object) -> "pytest.Config":
        sys.path[:] = path
        capturing = config.pluginmanager.getplugin("capturemanager")
        capturing.start_global_capturing()
        capturing.suspend_global_capture()
        return config

    def configured() -> None:
        # Now the worker is registered, and the name of its directory is known.
        worker: Any = worker_of(config)
        config._tmp_path_factory = TempPathFactory.from_config(config, _ispytest=True)
        report_results_alone(config)
        # All other plugins have done this.
        config.hook.pytest_sessionstart = worker.pytest_sessionstart
        config.hook.pytest_collection = worker.pytest_collection_finish

    configuring._prepareconfig = prepared
    Session.from_config = lambda config: session
    config._do_configure = configured


def worker_of(config: "pytest.Config") -> Any:
    """The plugin of pytest-xdist that talks to the controller."""
    return next(one for one in config.pluginmanager.get_plugins() if hasattr(one, "sendevent"))


def report_results_alone(config: "pytest.Config") -> None:
    """Let a worker not report that a test begins, and that its fixtures did their work.

    These are half of all messages, and nothing is shown of them without such an option.
    """
    option = config.option
    if option.verbose > 0 or option.durations is not None or option.xmlpath is not None:
        return
    worker = worker_of(config)
    send = worker.sendevent

    def send_results(name: str, **given: Any) -> None:
        report = given.get("data", {}) if name == "testreport" else {}
        is_idle = report.get("outcome") == "passed" and report.get("when") != "call"
        if name != "logstart" and not is_idle:
            send(name, **given)

    worker.sendevent = send_results


def collect(args: list[str]) -> "pytest.Session | None":
    """Collect the tests as a worker does. None if something is wrong with one of them."""
    from _pytest.config import _prepareconfig  # noqa: PLC0415
    from _pytest.main import Session  # noqa: PLC0415

    config: Any = _prepareconfig(args, None)
    # pytest warns of plugins that were imported before.
    from xdist.remote import setup_config  # noqa: PLC0415

    setup_config(config, None)
    config.workerinput = {"workerid": "collecting", "workercount": 0}
    session = Session.from_config(config)
    config._do_configure()
    config.hook.pytest_sessionstart(session=session)
    if config.args == ["tests"]:
        start_rewriting()
    # What is imported and collected now stays.
    gc.disable()
    session.perform_collect()
    config.pluginmanager.getplugin("capturemanager").stop_global_capturing()
    is_whole = not session.testsfailed and threading.active_count() == 1
    return session if is_whole else None


def start_rewriting() -> None:
    """Let the other processors rewrite test modules that this process has not come to."""
    from rewriting import share_the_rewriting  # noqa: PLC0415

    processors = len(os.sched_getaffinity(0))
    for number in range(1, processors):
        if os.fork() == 0:
            share_the_rewriting(Path(__file__).parent, f"gw{number}", processors)
            os._exit(0)


def main(task: str, *words: str) -> None:
    if task != COLLECTING:
        hand_over(task, words)
        return
    number, given = words
    args, sys.path[:] = json.loads(given)
    listening = socket.socket(fileno=int(number))
    # Whatever goes wrong, the connections end, and the workers are ordinary ones.
    if (session := collect(args)) is not None:
        serve(listening, session)


if __name__ == "__main__":
    main(*sys.argv[1:])
