"""The user's configuration: which logs to read and which to skip, prices, limits, retention.

The file is TOML. Every setting is optional:

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
from collections.abc import Callable, Mapping
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
    """Which logs of one agent are read. ``roots`` replace the directories where the agent keeps
    its logs. Only files whose path matches ``glob`` are read."""

    enabled: bool = True
    roots: list[str] = []
    glob: str = "*"


class Exclusions(msgspec.Struct, forbid_unknown_fields=True):
    """Patterns of paths and of repository names. A log that matches one is not collected."""

    paths: list[str] = []
    repos: list[str] = []


class RetentionConfig(msgspec.Struct, forbid_unknown_fields=True):
    """How many compressed bytes of logs the store keeps, and for how long; see docs/retention.md.

    The limits are suggestions until retention is turned on. With ``after_sync`` they apply once a
    day after a sync. A configuration file that sets one of `RETENTION_LIMITS` turns ``after_sync``
    on. If it also says ``after_sync = false``, its limits apply only to ``session-memory retain``.
    With ``archive_small`` sessions are evicted even if their archive takes more space than they
    free.
    """

    raw_max_age_days: Annotated[float, msgspec.Meta(ge=0)] = 45
    raw_soft_cap_bytes: Annotated[int, msgspec.Meta(ge=0)] = 4 * 1024**3
    raw_hard_cap_bytes: Annotated[int, msgspec.Meta(ge=0)] = 6 * 1024**3
    distilled_cap_bytes: Annotated[int, msgspec.Meta(ge=0)] = 1024**3
    archive: bool = True
    archive_dir: str = ""
    archive_small: bool = False
    after_sync: bool = False

    @property
    def is_off(self) -> bool:
        """Whether retention is off: it does not run after a sync, and no limit was changed."""
        suggested = RetentionConfig()
        return not self.after_sync and all(
            getattr(self, name) == getattr(suggested, name) for name in RETENTION_LIMITS
        )


# A configuration file that sets one of these limits turns retention on.
RETENTION_LIMITS = ("raw_max_age_days", "raw_soft_cap_bytes", "raw_hard_cap_bytes")


class LessonsConfig(msgspec.Struct, forbid_unknown_fields=True):
    """The folder of lessons, and how many sessions each step needs; see docs/lessons.md.

    - ``promote_sessions``: the least number of sessions with a pattern before it may become a
      lesson
    - ``distribute_sessions``: the least number of such sessions before the lesson may be written to
      a file
    - ``measure_sessions``: the least number of sessions before the lesson was written to a file,
      and again after it, before the lesson's effect is judged
    """

    dir: str = ""
    promote_sessions: Annotated[int, msgspec.Meta(ge=1)] = 2
    distribute_sessions: Annotated[int, msgspec.Meta(ge=1)] = 3
    measure_sessions: Annotated[int, msgspec.Meta(ge=1)] = 5


class Config(msgspec.Struct, forbid_unknown_fields=True):
    """The settings of the configuration file. ``store`` is the path or address of the database;
    empty means the default place. With ``redact`` secrets are masked before anything is stored.
    ``jobs`` is the largest number of worker processes; 0 means one for each processor."""

    store: str = ""
    host: str = ""
    sources: dict[str, SourceConfig] = {}
    exclude: Exclusions = msgspec.field(default_factory=Exclusions)
    domains: dict[str, str] = {}
    redact: bool = False
    jobs: Annotated[int, msgspec.Meta(ge=0)] = 0
    prices: dict[str, OwnPrice] = {}
    budget: Limits = Limits()
    retention: RetentionConfig = msgspec.field(default_factory=RetentionConfig)
    lessons: LessonsConfig = msgspec.field(default_factory=LessonsConfig)

    def source(self, flavor: str) -> SourceConfig:
        """The settings for one agent; the defaults if the file has no section for this agent."""
        return self.sources.get(flavor) or SourceConfig()

    def excludes(self, path: str, directory_fits: Callable[[str, str], bool] = fnmatchcase) -> bool:
        """Whether the log at ``path`` must not be read, because of a pattern or of its repository.

        Some agents name a log's directory after the repository they worked in. So the log of an
        excluded repository is skipped before it is read. ``directory_fits(name, repo)`` says
        whether the directory ``name`` is named after ``repo``.
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
        """The domain of the first pattern that matches the repository or the directory."""
        for pattern, domain in self.domains.items():
            if (repo and fnmatchcase(repo, pattern)) or (cwd and fnmatchcase(cwd, pattern)):
                return domain
        return None


def config_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Return ``$SESSION_MEMORY_CONFIG``, else ``~/.session-memory/config.toml``."""
    if named := environ.get(CONFIG_VARIABLE):
        return Path(named).expanduser()
    return home(environ) / ".session-memory" / "config.toml"


def home(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's home directory."""
    return Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())


def load_config(path: Path | None = None) -> Config:
    """The configuration in a file, by default the user's. Without a file, the defaults.

    If ``SESSION_MEMORY_CONFIG`` names a file that does not exist, this raises `ConfigError`. With
    the defaults, the user's prices and exclusions would silently not apply.
    """
    is_named = path is None and bool(os.environ.get(CONFIG_VARIABLE))
    path = path or config_path()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        if is_named:
            message = f"{CONFIG_VARIABLE} names {path}, which does not exist"
            hint = (
                f"Correct or unset {CONFIG_VARIABLE}; an example: session-memory config --example"
            )
            raise ConfigError(message, hint) from error
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        hint = f"Make {path} a readable text file, or remove it."
        raise ConfigError(f"cannot read {path}: {error}", hint) from error
    # Imported here, because most users have no configuration file.
    import tomllib  # noqa: PLC0415

    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", _hint(str(error), path)) from error
    try:
        return msgspec.convert(_with_retention_switch(values), Config)
    except msgspec.ValidationError as error:
        message = _readable(str(error), values)
        raise ConfigError(f"{path}: {message}", _hint(str(error), path)) from error


def _with_retention_switch(values: dict[str, Any]) -> dict[str, Any]:
    """Return ``values`` with ``retention.after_sync`` on if the file sets one of
    `RETENTION_LIMITS` and does not set ``after_sync``."""
    given = values.get("retention")
    if not isinstance(given, dict) or "after_sync" in given:
        return values
    if not any(name in given for name in RETENTION_LIMITS):
        return values
    return {**values, "retention": {**given, "after_sync": True}}


def default_store(
    config: Callable[[], Config] = load_config, environ: Mapping[str, str] = os.environ
) -> str:
    """Return ``$SESSION_MEMORY_STORE``, else the configured store, else
    ``~/.session-memory/memory.db``.

    The configuration is not read if the environment names the store.
    """
    named = environ.get(STORE_VARIABLE) or config().store
    return named or str(home(environ) / ".session-memory" / "memory.db")


# Tables with any keys, and the type of their values. An error of msgspec does not name the key.
_TABLES_BY_NAME: dict[str, type] = {"prices": OwnPrice, "sources": SourceConfig, "domains": str}
_TYPE_NAMES = {
    "float": "a number",
    "int": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}


def _readable(message: str, values: dict[str, Any]) -> str:
    """Return an error of msgspec in the words of a user. An example of the result:
    ``prices."house-model".input: expected a number, got a text``."""
    fact, _, place = message.partition(" - at `$")
    fact = re.sub(r"`([a-z| ]+)`", _type_name, fact[:1].lower() + fact[1:]).removeprefix("object ")
    place = place.rstrip("`").removeprefix(".")
    table = place.partition("[")[0]
    if table in _TABLES_BY_NAME and isinstance(values.get(table), dict):
        key = _first_wrong_key(values[table], _TABLES_BY_NAME[table])
        place = place.replace("[...]", f'."{key}"', 1)
    return f"{place}: {fact}" if place else fact


def _type_name(match: re.Match[str]) -> str:
    words = [_TYPE_NAMES.get(word, f"`{word}`") for word in match[1].split(" | ") if word != "null"]
    return " or ".join(dict.fromkeys(words)) or "nothing"


def _first_wrong_key(table: dict[str, Any], kind: type) -> str:
    """Return the key of the first entry of a table that is not of type ``kind``."""
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
        from difflib import get_close_matches  # noqa: PLC0415

        near = get_close_matches(message.split("`")[1], known, n=1)
        if near:
            return f"Did you mean {near[0]}? Edit {path}."
    return f"Edit {path}; session-memory config --example shows every setting."


def config_values(config: Config) -> dict[str, Any]:
    """The settings as plain values, for showing."""
    values: dict[str, Any] = msgspec.to_builtins(config)
    return values


def this_host(config: Config, environ: Mapping[str, str] = os.environ) -> str:
    """The name of this machine: from ``SESSION_MEMORY_HOST``, the configuration, or the system."""
    if named := environ.get(HOST_VARIABLE) or config.host:
        return named
    from socket import gethostname  # noqa: PLC0415

    return gethostname()
