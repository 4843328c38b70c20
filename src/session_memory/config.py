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

[prices."house-model"]
input = 3.0
output = 15.0

[budget]
month = 200

[retention]
raw_max_age_days = 45
archive_dir = "/backup/session-memory"

[lessons]
dir = "~/code/webshop/lessons"
promote_sessions = 2
"""

import os
import re
import socket
import tomllib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

import msgspec

from session_memory.core.errors import ConfigError
from session_memory.core.money import Limits, OwnPrice

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


class RetentionConfig(msgspec.Struct, forbid_unknown_fields=True):
    """How much raw the store keeps, compressed, and for how long; see docs/retention.md."""

    raw_max_age_days: Annotated[float, msgspec.Meta(ge=0)] = 45
    raw_soft_cap_bytes: Annotated[int, msgspec.Meta(ge=0)] = 4 * 1024**3
    raw_hard_cap_bytes: Annotated[int, msgspec.Meta(ge=0)] = 6 * 1024**3
    distilled_cap_bytes: Annotated[int, msgspec.Meta(ge=0)] = 1024**3
    archive: bool = True
    archive_dir: str = ""
    after_sync: bool = True


class LessonsConfig(msgspec.Struct, forbid_unknown_fields=True):
    """Where lessons are, and how much evidence they need; see docs/lessons.md.

    So many sessions have to show a pattern before it may become a lesson, before that may be
    written to a file, and on either side of that before its effect is judged.
    """

    dir: str = ""
    promote_sessions: Annotated[int, msgspec.Meta(ge=1)] = 2
    distribute_sessions: Annotated[int, msgspec.Meta(ge=1)] = 3
    measure_sessions: Annotated[int, msgspec.Meta(ge=1)] = 5


class Config(msgspec.Struct, forbid_unknown_fields=True):
    """``store`` is the database's path; an empty one means the default place. ``redact`` has
    secrets masked before anything is kept; see docs/redaction.md."""

    store: str = ""
    host: str = ""
    sources: dict[str, SourceConfig] = {}
    exclude: Exclusions = msgspec.field(default_factory=Exclusions)
    domains: dict[str, str] = {}
    redact: bool = False
    prices: dict[str, OwnPrice] = {}
    budget: Limits = Limits()
    retention: RetentionConfig = msgspec.field(default_factory=RetentionConfig)
    lessons: LessonsConfig = msgspec.field(default_factory=LessonsConfig)

    def source(self, flavor: str) -> SourceConfig:
        return self.sources.get(flavor) or SourceConfig()

    def excludes(self, path: str, directory_fits: Callable[[str, str], bool] = fnmatchcase) -> bool:
        """Whether a path must not be read: it fits a pattern, or it is the log of an excluded repo.

        Some agents name a directory after the repository they worked in. Then a repository can be
        left out before a byte of its logs is read. ``directory_fits(name, repo)`` knows how the
        agent writes such a name.
        """
        if any(fnmatchcase(path, pattern) for pattern in self.exclude.paths):
            return True
        return any(
            directory_fits(part, repo)
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
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}", _hint(str(error), path)) from error
    try:
        return msgspec.convert(values, Config)
    except msgspec.ValidationError as error:
        message = _in_words(str(error), values)
        raise ConfigError(f"{path}: {message}", _hint(str(error), path)) from error


# Tables whose keys the user chooses, which an error does not name.
_NAMED: dict[str, type] = {"prices": OwnPrice, "sources": SourceConfig, "domains": str}
_KINDS = {
    "float": "a number",
    "int": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}


def _in_words(message: str, values: dict[str, Any]) -> str:
    """``prices."house-model".input: expected a number, got a text``."""
    what, _, place = message.partition(" - at `$")
    what = re.sub(r"`([a-z| ]+)`", _kind, what[:1].lower() + what[1:]).removeprefix("object ")
    place = place.rstrip("`").removeprefix(".")
    table = place.partition("[")[0]
    if table in _NAMED and isinstance(values.get(table), dict):
        place = place.replace("[...]", f'."{_culprit(values[table], _NAMED[table])}"', 1)
    return f"{place}: {what}" if place else what


def _kind(found: re.Match[str]) -> str:
    words = [_KINDS.get(word, f"`{word}`") for word in found[1].split(" | ") if word != "null"]
    return " or ".join(dict.fromkeys(words)) or "nothing"


def _culprit(table: dict[str, Any], kind: type) -> str:
    """The first entry that is not of its kind."""
    for name, entry in table.items():
        try:
            msgspec.convert(entry, kind)
        except msgspec.ValidationError:
            return name
    return "…"


def _hint(message: str, path: Path) -> str:
    if "unknown field" in message:
        known = (*Config.__struct_fields__, *SourceConfig.__struct_fields__, "paths", "repos")
        known += (*OwnPrice.__struct_fields__, *Limits.__struct_fields__)
        known += (*RetentionConfig.__struct_fields__, *LessonsConfig.__struct_fields__)
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
