"""Change settings in the user's configuration file.

Comments, order and blank lines stay. The new text is parsed and compared with the intended settings
before it replaces the file as a whole.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from session_memory.cli.kit.own_file import replace_file
from session_memory.core.errors import ConfigError, UnsafePath

_HEADER = re.compile(r"^\s*\[")
SettingValue = bool | float | None


def set_values(path: Path, table: str, values: dict[str, SettingValue]) -> None:
    """Set keys in ``[table]`` of the file, which is created if necessary; None removes a key."""
    if path.is_symlink():
        raise UnsafePath(
            f"{path} is a link", f"Edit the file that it points to: set [{table}] there."
        )
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    new = _changed(text, table, values)
    before, after = _parsed(text, path), _parsed(new, path)
    expected = {**before, table: {**before.get(table, {}), **values}}
    expected[table] = {name: value for name, value in expected[table].items() if value is not None}
    if {**after, table: after.get(table, {})} != expected:
        hint = f"Edit {path} yourself: the way it sets [{table}] cannot be changed safely."
        raise ConfigError(f"cannot set {', '.join(values)} in {path}", hint)
    replace_file(path, new.encode("utf-8"))


def _changed(text: str, table: str, values: dict[str, SettingValue]) -> str:
    lines = text.splitlines()
    try:
        start = next(
            n for n, line in enumerate(lines) if line.split("#")[0].strip() == f"[{table}]"
        )
    except StopIteration:
        lines += [*([""] if lines and lines[-1].strip() else []), f"[{table}]"]
        start = len(lines) - 1
    end = next((n for n in range(start + 1, len(lines)) if _HEADER.match(lines[n])), len(lines))
    inside = [line for line in lines[start + 1 : end] if _key(line) not in values]
    new = [f"{name} = {_written(value)}" for name, value in values.items() if value is not None]
    return "\n".join([*lines[: start + 1], *new, *inside, *lines[end:]]) + "\n"


def _written(value: bool | float) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:.15g}"


def _key(line: str) -> str:
    return line.partition("=")[0].strip()


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}", f"Correct {path} first.") from error
