"""How this copy of Session Memory was installed, and the command that adds an extra to it.

``pip install 'session-memory[lake]'`` is wrong for most people: a tool of uv or pipx has a separate
environment, a checkout is installed from its directory, and the ``pip`` on the PATH may belong to
another Python. So the hint is made from what the installation recorded about itself.
"""

import shlex
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

NAME = "session-memory"


@dataclass(frozen=True)
class Installation:
    """How this package was installed.

    ``prefix`` and ``python`` are the directory and the interpreter of its environment.
    ``directory`` is the checkout that it was installed from. ``url`` is another origin, such as a
    wheel or a git repository. Both are None if it came from the package index.
    """

    prefix: Path
    python: Path
    directory: Path | None = None
    is_editable: bool = False
    url: str | None = None
    has_pip: bool = True

    def install_command(self, extra: str = "") -> str:
        """The command that installs this copy again, with the extra ``extra`` if one is given."""
        words = [*self._installer(), *self._requirement(f"[{extra}]" if extra else "")]
        return " ".join(shlex.quote(word) for word in words)

    def upgrade_command(self) -> str:
        """The command that installs a newer release, or the newer state of a checkout or URL."""
        if self.directory is not None:
            pull = f"git -C {shlex.quote(str(self.directory))} pull"
            return pull if self.is_editable else f"{pull} && {self.install_command()}"
        if self.url is not None:
            return self.install_command()
        if self._is_tool_of_uv:
            return f"uv tool upgrade {NAME}"
        if self._is_tool_of_pipx:
            return f"pipx upgrade {NAME}"
        return " ".join(shlex.quote(word) for word in [*self._installer(), "--upgrade", NAME])

    @property
    def _is_tool_of_uv(self) -> bool:
        return (self.prefix / "uv-receipt.toml").is_file()

    @property
    def _is_tool_of_pipx(self) -> bool:
        return (self.prefix / "pipx_metadata.json").is_file()

    def _installer(self) -> list[str]:
        if self._is_tool_of_uv:
            return ["uv", "tool", "install"]
        if self._is_tool_of_pipx:
            # Without --force pipx does not change an installed tool.
            return ["pipx", "install", "--force"]
        if not self.has_pip:
            return ["uv", "pip", "install", "--python", str(self.python)]
        return [*self._pip(), "install"]

    def _pip(self) -> list[str]:
        """``pip`` if it belongs to this environment, otherwise this Python with ``-m pip``."""
        from shutil import which  # noqa: PLC0415

        on_path = which("pip")
        if on_path is not None and Path(on_path).parent == self.python.parent:
            return ["pip"]
        return [str(self.python), "-m", "pip"]

    def _requirement(self, extra: str) -> list[str]:
        if self.directory is not None:
            return [*(["--editable"] if self.is_editable else []), f"{self.directory}{extra}"]
        if self.url is not None:
            return [f"{NAME}{extra} @ {self.url}"]
        return [f"{NAME}{extra}"]


def this_installation() -> Installation:
    """The installation that runs this code."""
    # Imported here because only an error needs them, and importing them takes time.
    import json  # noqa: PLC0415
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415

    try:
        recorded = distribution(NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        recorded = None
    origin = json.loads(recorded) if recorded else {}
    url = str(origin.get("url", ""))
    has_pip = find_spec("pip") is not None
    prefix, python = Path(sys.prefix), Path(sys.executable)
    if "dir_info" in origin:
        directory = Path(unquote(urlsplit(url).path))
        is_editable = bool(origin["dir_info"].get("editable"))
        return Installation(
            prefix, python, directory=directory, is_editable=is_editable, has_pip=has_pip
        )
    if "vcs_info" in origin:
        url = f"{origin['vcs_info']['vcs']}+{url}"
    return Installation(prefix, python, url=url or None, has_pip=has_pip)


def install_hint(extra: str) -> str:
    """Return the hint for an error about a missing library: the command that installs it."""
    return f"Install it with: {this_installation().install_command(extra)}"


def upgrade_hint() -> str:
    """Return the hint for an error about a file of a newer release: the command that upgrades."""
    return f"Upgrade with: {this_installation().upgrade_command()}"
