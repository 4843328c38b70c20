"""Run agents without a network, and end all their processes when the kit ends.

If the machine allows it, the agents run in Linux namespaces of their own: a network with nothing
but loopback, and process ids of their own, so that what an agent left behind ends with the kit.
Elsewhere the agents get proxy settings that point to a closed port.
"""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

INSIDE = "SESSION_MEMORY_WITHOUT_NETWORK"
_UNSHARE = ["--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
_NOWHERE = "http://127.0.0.1:9"


def words_without_network(words: list[str]) -> tuple[list[str], dict[str, str]]:
    """Return the command and the variables that start a program in namespaces of its own.

    If the machine allows no namespaces, the command is unchanged, and the program can reach the
    network.
    """
    environment, unshare = dict(os.environ), shutil.which("unshare")
    if unshare is not None and shutil.which("ip") is not None:
        tried = [unshare, *_UNSHARE, "ip", "link", "set", "lo", "up"]
        if not subprocess.run(tried, capture_output=True).returncode:
            begin = 'ip link set lo up && exec "$@"'
            words = [unshare, *_UNSHARE, "sh", "-c", begin, "sh", *words]
            environment[INSIDE] = "1"
    return words, environment


def is_without_network() -> bool:
    return bool(os.environ.get(INSIDE))


def proxies() -> dict[str, str]:
    """Return proxy variables that keep programs from the network; none if this process has no
    network."""
    if is_without_network():
        return {}
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    nowhere = dict.fromkeys((*names, *map(str.lower, names)), _NOWHERE)
    return nowhere | {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}


def running_in(home: Path) -> dict[int, str]:
    """Return the command lines of the processes with this home directory, by process id."""
    mark, found = f"HOME={home}".encode(), {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                found[int(entry.name)] = b" ".join(words).decode(errors="replace").strip()
        except OSError:
            continue  # The process ended, or it belongs to another user.
    return {pid: command for pid, command in found.items() if command}


def end_all_in(home: Path, grace: float) -> list[str]:
    """Wait `grace` seconds for an agent's processes to end. Kill the rest, and return them."""
    until = time.monotonic() + grace
    while (left := running_in(home)) and time.monotonic() < until:
        time.sleep(0.1)
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return list(left.values())
