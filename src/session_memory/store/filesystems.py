"""Refuse to put a store on a network file system, because its locks are not reliable."""

import os
from pathlib import Path

from session_memory.core.errors import NetworkFilesystem

NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "afs", "9p", "ceph"})


def refuse_network(path: Path) -> None:
    """Raise `NetworkFilesystem`, unless SESSION_MEMORY_ALLOWNETWORK_FS is set."""
    if os.environ.get("SESSION_MEMORY_ALLOWNETWORK_FS"):
        return
    kind = filesystem_of(path)
    if kind in NETWORK:
        raise NetworkFilesystem(str(path), kind)


def filesystem_of(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """The type of the file system that ``path`` is or will be on. Empty if it is unknown."""
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    target, best, kind = str(path.absolute()), -1, ""
    for line in lines:
        fields = line.split(" ")
        place = fields[1].replace("\\040", " ").rstrip("/")
        if (target == place or target.startswith(place + "/")) and len(place) > best:
            best, kind = len(place), fields[2]
    return kind
