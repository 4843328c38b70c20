"""Read and write the files of agents: atomically, through links, with their modes kept."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from session_memory.install.errors import InstallError
from session_memory.store.private_files import sweep_unfinished, sync_directory, whole_file

LARGEST = 64 * 1024 * 1024


def real_path(path: Path) -> Path:
    """The file itself if ``path`` is a link to it."""
    if not path.is_symlink():
        return path
    real = path.resolve()
    if not real.exists():
        hint = "Repair or remove the link, and run the command again."
        raise InstallError(f"{path} is a link to {real}, which does not exist", hint)
    return real


def read_text(path: Path) -> str | None:
    """The content of a file with its line ends as they are; None if it does not exist."""
    real = real_path(path)
    try:
        status = real.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            raise InstallError(f"{path} is not a settings file", "Move it away.")
        return real.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        raise InstallError(f"{path.parent} is not a directory", "Move it away.") from error
    except UnicodeDecodeError as error:
        hint = f"Save {path} as UTF-8, and run the command again."
        raise InstallError(f"{path} is not UTF-8: {error.reason}", hint) from error
    except PermissionError as error:
        hint = "Run the command as the owner of the file."
        raise InstallError(f"{path} cannot be read: {error.strerror}", hint) from error


def missing_directories(path: Path) -> list[str]:
    """The directories that writing this file has to make."""
    return [str(place) for place in path.parents if not place.is_dir()]


def write_text(path: Path, text: str) -> None:
    """Replace a file as a whole."""
    real = real_path(path)
    like = real.stat() if real.exists() else None
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        sweep_unfinished(real.parent)
        with whole_file(real, replace=True) as file:
            _set_mode(file.fileno(), like)
            file.write(text.encode("utf-8"))
    except OSError as error:
        # For example a home that another program manages, in directories that are read-only.
        hint = "Make it writable, or add the entries where it is managed; docs/agents shows them."
        raise InstallError(f"{path} cannot be written: {error.strerror}", hint) from error


def remove_file(path: Path) -> None:
    path.unlink(missing_ok=True)
    if path.parent.is_dir():
        sync_directory(path.parent)


def remove_empty(directories: Iterable[str]) -> list[str]:
    """Remove those of the directories that are empty. Returns the others that are there."""
    left = []
    for directory in sorted(directories, key=len, reverse=True):
        try:
            Path(directory).rmdir()
        except FileNotFoundError:
            continue
        except OSError:
            left.append(directory)
    return left


def _set_mode(descriptor: int, like: os.stat_result | None) -> None:
    if like is None:
        umask = os.umask(0)
        os.umask(umask)
        os.fchmod(descriptor, 0o666 & ~umask)
        return
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != (like.st_uid, like.st_gid):
        os.fchown(descriptor, like.st_uid, like.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
