"""Find the tasks of an extension of VS Code or of a similar editor.

<editor>/User/globalStorage/<extension>/tasks/<task>/ui_messages.json     what the person sees
<…>/tasks/<task>/api_conversation_history.json     what the model gets
<…>/tasks/<task>/history_item.json, task_metadata.json     title, directory, model
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.log_files import directory_in, logs
from session_memory.core.roles import DOCUMENT, REWRITTEN

MESSAGES = "ui_messages.json"
HISTORY = "api_conversation_history.json"
FACTS = ("history_item.json", "task_metadata.json")
_STORAGE = "User/globalStorage"
_EDITORS = (
    *(".config/Code", ".config/Code - Insiders", ".config/VSCodium", ".config/Code - OSS"),
    *(".config/Cursor", ".config/Windsurf"),
    *(".vscode-server/data", ".vscode-server-insiders/data", ".cursor-server/data"),
    *("Library/Application Support/Code", "Library/Application Support/Code - Insiders"),
    *("Library/Application Support/VSCodium", "Library/Application Support/Cursor"),
    *("Library/Application Support/Windsurf", "AppData/Roaming/Code", "AppData/Roaming/Cursor"),
)
# The directory that Roo Code uses like that of an editor when it runs in a terminal.
IN_TERMINAL = ".vscode-mock"
_FIRST_PARTS = frozenset(place.split("/")[0] for place in _EDITORS) | {".cline", IN_TERMINAL}
_IN_EDITORS = frozenset({"globalStorage", IN_TERMINAL})
_HEAD = re.compile(rb'\s*\[\s*\{\s*"ts":\s*\d{12,16},\s*"type":\s*"(?:say|ask)",\s*"(?:say|ask)":')


def storage_roots(environ: Mapping[str, str], home: Path, extension: str) -> list[Path]:
    """Return the directories in which an extension keeps its data, one for each installed editor.
    If no editor is installed, return the directory for VS Code."""
    editors = [home / place for place in _EDITORS]
    if roaming := environ.get("APPDATA"):
        editors += [Path(roaming) / "Code", Path(roaming) / "Cursor"]
    there = [editor for editor in editors if editor.is_dir()]
    return [editor / _STORAGE / extension for editor in there or editors[:1]]


def tasks_of(root: Path, extension: str) -> list[Path | Unlisted]:
    """Return the directories of an extension's tasks at ``root``: a user's home, the extension's
    own directory, or the directory ``tasks`` itself."""
    if root.name == "tasks" and root.parent.name == extension:
        return [root]
    if root.name == extension:
        found = [directory_in(root, "tasks")]
    else:
        places = [f"{editor}/{_STORAGE}/{extension}/tasks" for editor in _EDITORS]
        found = [directory_in(root, place) for place in places]
    return [place for place in found if place is not None]


def discover_tasks(root: Path, extension: str, *, loose: bool) -> Iterator[SourceRef | Unlisted]:
    """Yield the tasks of an extension at ``root``, or in home directories copied below ``root``.

    With ``loose``, also yield tasks that were copied without the editor's directories around them.
    """
    bases = tasks_of(root, extension)
    for base in bases:
        yield from tasks_in(base)

    def gathered(path: Path, below: str) -> SourceRef | None:
        # In the directory of an editor, the task may belong to another extension.
        is_own = extension in path.parts or (loose and _IN_EDITORS.isdisjoint(path.parts))
        return _ref(path, below) if is_own else None

    if not bases:
        yield from logs(root, None, MESSAGES, recognizes, gathered)


def tasks_in(base: Path | Unlisted) -> Iterator[SourceRef | Unlisted]:
    """Yield a source for every task in a directory of tasks."""
    if isinstance(base, Unlisted):
        yield base
        return
    try:
        names = sorted(path.name for path in base.iterdir())
    except OSError as error:
        yield Unlisted(base / MESSAGES, f"unreadable directory: {error.strerror}")
        return
    for name in names:
        path = base / name / MESSAGES
        if path.is_file():
            yield _ref(path, f"{name}/{MESSAGES}")


def _ref(path: Path, below: str) -> SourceRef:
    task, place = path.parent, _home_path(path.parent)
    companions = [
        SourceRef(task / name, DOCUMENT, f"{place}/{name}", task.name)
        for name in FACTS
        if (task / name).is_file()
    ]
    if (task / HISTORY).is_file():
        companions.append(SourceRef(task / HISTORY, REWRITTEN, f"{place}/{HISTORY}", task.name))
    return SourceRef(
        path, REWRITTEN, f"{place}/{MESSAGES}", task.name, companions=tuple(companions)
    )


def _home_path(task: Path) -> str:
    """Return the path of a task below the user's home; a path in Cline's directory for a task that
    somebody copied out of its editor."""
    parts = task.parts
    for number, part in enumerate(parts):
        if part in _FIRST_PARTS and "tasks" in parts[number:]:
            return "/".join(parts[number:])
    return f".cline/data/tasks/{task.name}"


def recognizes(head: bytes) -> bool:
    """Whether ``head`` begins like the messages of a task."""
    return _HEAD.match(head) is not None
