"""The user's configuration: which sources to read, what to leave out, what belongs together.

[sources.claude]
enabled = true
roots = ["~/.claude", "/backup/laptop/.claude"]
glob = "*webshop*"

[exclude]
paths = ["*/secret-project/*"]
repos = ["private-notes"]

[domains]
webshop = "shop"
"billing-*" = "finance"
"""

import os
import socket
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec

from session_memory.core.errors import ConfigError

CONFIG_VARIABLE = "SESSION_MEMORY_CONFIG"
HOST_VARIABLE = "SESSION_MEMORY_HOST"
STORE_VARIABLE = "SESSION_MEMORY_STORE"


class SourceConfig(msgspec.Struct, forbid_unknown_fields=True):
    enabled: bool = True
    roots: list[str] = []
    glob: str = "*"


class Exclusions(msgspec.Struct, forbid_unknown_fields=True):
    paths: list[str] = []
    repos: list[str] = []


class Config(msgspec.Struct, forbid_unknown_fields=True):
    """``store`` is the database's path; an empty one means the default place."""

    store: str = ""
    host: str = ""
    sources: dict[str, SourceConfig] = {}
    exclude: Exclusions = msgspec.field(default_factory=Exclusions)
    domains: dict[str, str] = {}

    def source(self, flavor: str) -> SourceConfig:
        return self.sources.get(flavor) or SourceConfig()

    def excludes(self, path: str) -> bool:
        """Whether a path must not be read: by a pattern, or as the log of an excluded repo.

        Some agents name a directory after the one they worked in, so a repository can be left out
        before a byte of it is read: Claude Code with dashes, Grok percent-encoded.
        """
        if any(fnmatchcase(path, pattern) for pattern in self.exclude.paths):
            return True
        return any(
            fnmatchcase(part, f"*-{repo}") or fnmatchcase(unquote(part).rpartition("/")[2], repo)
            for repo in self.exclude.repos
            for part in Path(path).parent.parts
        )

    def excludes_repo(self, repo: str | None) -> bool:
        return repo is not None and any(fnmatchcase(repo, name) for name in self.exclude.repos)

    def domain_of(self, repo: str | None, cwd: str | None) -> str | None:
        for pattern, domain in self.domains.items():
            if (repo and fnmatchcase(repo, pattern)) or (cwd and fnmatchcase(cwd, pattern)):
                return domain
        return None


def config_path(environ: Mapping[str, str] = os.environ) -> Path:
    if told := environ.get(CONFIG_VARIABLE):
        return Path(told).expanduser()
    return home(environ) / ".session-memory" / "config.toml"


def default_store(config: Config, environ: Mapping[str, str] = os.environ) -> str:
    """``$SESSION_MEMORY_STORE``, else the configured place, else below the home directory."""
    told = environ.get(STORE_VARIABLE) or config.store
    return told or str(home(environ) / ".session-memory" / "memory.db")


def home(environ: Mapping[str, str] = os.environ) -> Path:
    return Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())


def load_config(path: Path | None = None) -> Config:
    """The configuration file, or the defaults when there is none."""
    path = path or config_path()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path}: {error}", f"Mend or remove {path}.") from error
    try:
        return msgspec.convert(tomllib.loads(text), Config)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ConfigError(f"{path}: {error}", _hint(str(error), path)) from error


def _hint(message: str, path: Path) -> str:
    if "unknown field" in message:
        known = (*Config.__struct_fields__, *SourceConfig.__struct_fields__, "paths", "repos")
        near = get_close_matches(message.split("`")[1], known, n=1)
        if near:
            return f"Did you mean {near[0]}? Edit {path}."
    return f"Edit {path}; session-memory config --example shows every setting."


def config_values(config: Config) -> dict[str, Any]:
    """The settings as plain values, for showing."""
    values: dict[str, Any] = msgspec.to_builtins(config)
    return values


def this_host(config: Config, environ: Mapping[str, str] = os.environ) -> str:
    """The name under which this machine collects: told, configured, or its own."""
    return environ.get(HOST_VARIABLE) or config.host or socket.gethostname()
