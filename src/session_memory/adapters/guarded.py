"""Guard the functions of an adapter, so that one broken adapter does not stop the others.

`guarded` wraps functions of an agent. If a wrapped function raises an exception or returns a wrong
value, the failure is noted, and the wrapper returns the default of this function. Functions without
a default raise ``AdapterFailed``. ``roots``, ``discover`` and ``read`` are not wrapped, because
their callers use `adapter_failing` or `guarded_items`.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from session_memory.adapters.agent import (
    Agent,
    Dump,
    Rows,
    no_roots,
    no_sources,
    recognizes_nothing,
)
from session_memory.adapters.base import Cursor, SourceRef
from session_memory.adapters.references import checked_reference
from session_memory.core.errors import AdapterFailed, SessionMemoryError
from session_memory.core.text import escaped, short_repr

MOST_DAYS = 2**31 - 1
# An agent without optional functions. Its functions are the defaults.
_PLAIN = Agent(
    flavor="plain",
    version=1,
    roots=no_roots,
    discover=no_sources,
    recognizes=recognizes_nothing,
    read=lambda source, cursor: iter(()),
)
_END = object()
# The first failure of each function that failed, by flavor and function.
_NOTED: dict[str, dict[str, str]] = {}


@contextmanager
def adapter_failing(
    flavor: str,
    path: str = "",
    function: str = "",
    passing: tuple[type[BaseException], ...] = (),
) -> Iterator[None]:
    """Within this context, turn whatever an adapter raises into ``AdapterFailed``, even SystemExit.

    Ctrl-C is passed on, because the user stops the command. Exceptions in ``passing`` are passed
    on too.
    """
    passing += (KeyboardInterrupt, AdapterFailed)
    try:
        yield
    except passing:
        raise
    except BaseException as error:
        raise AdapterFailed(flavor, error, path, function) from error


def guarded_items(
    call: Callable[[], Iterable[Any]],
    accepted: Callable[[Any], Any],
    flavor: str,
    path: str = "",
    function: str = "",
    passing: tuple[type[BaseException], ...] = (),
) -> Iterator[Any]:
    """Yield ``accepted(item)`` for each item that the adapter's function ``call`` returns.

    Raises ``AdapterFailed`` if ``call`` or ``accepted`` raises. An exception that the caller raises
    between two items does not count as a failure of the adapter.
    """
    passing += (KeyboardInterrupt, AdapterFailed)
    with adapter_failing(flavor, path, function, passing):
        items = iter(call())
    while True:
        # There may be many thousands of items, and a context manager for each would be slow.
        try:
            item = next(items, _END)
            value = None if item is _END else accepted(item)
        except passing:
            raise
        except BaseException as error:
            raise AdapterFailed(flavor, error, path, function) from error
        if item is _END:
            return
        yield value


def guarded(agent: Agent) -> Agent:
    """Return the agent with wrapped functions. A function that fails returns its default instead.

    ``history``, ``histories``, ``dump`` and ``rows`` have no default, so they raise
    ``AdapterFailed``. So does ``directory_fits``: with a default, a sync could read a log that the
    user excluded.
    """
    changes: dict[str, Any] = {}
    for name, accepted in _WITH_DEFAULT.items():
        default = getattr(_PLAIN, name)
        if getattr(agent, name) is not default:
            changes[name] = _guard(agent, name, accepted, default)
    if agent.directory_fits is not _PLAIN.directory_fits:
        changes["directory_fits"] = _guard(agent, "directory_fits", _a_bool)
    if agent.log_at is not None:
        changes["log_at"] = _guard(agent, "log_at", _a_reference, lambda path: None)
    if agent.history is not None:
        file_errors = (SessionMemoryError, OSError)
        changes["history"] = _guard(agent, "history", _a_history, passing=file_errors)
    if agent.histories is not None:
        changes["histories"] = _guarded_histories(agent.flavor, agent.histories)
    if agent.settings is not None:
        changes["settings"] = _guard(agent, "settings", _settings, lambda database: {})
    if agent.dump is not None:
        changes["dump"] = _guarded_dump(agent.flavor, agent.dump)
    if agent.rows is not None:
        changes["rows"] = _guarded_rows(agent.flavor, agent.rows)
    return msgspec.structs.replace(agent, **changes)


def _guard(
    agent: Agent,
    name: str,
    accepted: Callable[[Any], Any],
    default: Callable[..., Any] | None = None,
    passing: tuple[type[BaseException], ...] = (),
) -> Callable[..., Any]:
    """Wrap a function of the agent: if it fails, note that and call ``default`` instead.

    With ``default`` None, the failure is raised. Exceptions of the types in ``passing`` are no
    failures; they are raised as they are.
    """
    flavor, function = agent.flavor, getattr(agent, name)

    def call(*arguments: Any) -> Any:
        try:
            with adapter_failing(flavor, function=name, passing=passing):
                return accepted(function(*arguments))
        except AdapterFailed as failure:
            if default is None:
                raise
            note_failure(failure)
            return default(*arguments)

    return call


def _guarded_dump(flavor: str, dump: Dump) -> Dump:
    def lines(database: Path, ref: SourceRef) -> Iterator[bytes]:
        call = partial(dump, database, ref)
        return guarded_items(call, _a_line, flavor, function="dump", passing=(OSError,))

    return lines


def _guarded_rows(flavor: str, rows: Rows) -> Rows:
    def lines(ref: SourceRef, cursor: Cursor) -> Iterator[bytes]:
        call = partial(rows, ref, cursor)
        return guarded_items(call, _a_line, flavor, function="rows", passing=(OSError,))

    return lines


def _guarded_histories(flavor: str, histories: Callable[..., Any]) -> Callable[..., Any]:
    def each(*arguments: Any) -> Iterator[Any]:
        call, passing = partial(histories, *arguments), (SessionMemoryError, OSError)
        return guarded_items(call, _a_history, flavor, function="histories", passing=passing)

    return each


# ---------------------------------------------------------------- failures


def noted_failures() -> dict[str, str]:
    """Return why functions of adapters failed in this process, for each flavor with failures."""
    return {flavor: "; ".join(reasons.values()) for flavor, reasons in _NOTED.items() if reasons}


def note_failure(failure: AdapterFailed) -> None:
    """Remember a failure. Of several failures of one function, only the first is kept."""
    _NOTED.setdefault(failure.flavor, {}).setdefault(failure.function, str(failure))


def forget_failure(flavor: str, function: str) -> None:
    """Forget what was noted about a function, before it is called again."""
    _NOTED.get(flavor, {}).pop(function, None)


def forget_failures() -> None:
    _NOTED.clear()


def try_out(agent: Agent) -> None:
    """Call the functions of a guarded agent that need no log, so that failures are noted."""
    for name, arguments in _TRIALS.items():
        try:
            getattr(agent, name)(*arguments)
        except AdapterFailed as failure:
            note_failure(failure)


# ---------------------------------------------------------------- checks of return values


def _a_bool(answer: Any) -> bool:
    if not isinstance(answer, bool):
        raise TypeError(f"it returned {short_repr(answer)}, not True or False")
    return answer


def _a_line(answer: Any) -> bytes:
    if not isinstance(answer, bytes):
        raise TypeError(f"it returned {short_repr(answer)}, not bytes")
    return answer


def _a_text(answer: Any) -> str:
    if not isinstance(answer, str):
        raise TypeError(f"it returned {short_repr(answer)}, not a text")
    return escaped(answer)


def _days(answer: Any) -> int | None:
    if answer is None:
        return None
    if not isinstance(answer, int) or isinstance(answer, bool) or not 0 <= answer <= MOST_DAYS:
        raise TypeError(f"it returned {short_repr(answer)}, not a number of days or None")
    return answer


def _paths(answer: Any) -> list[Path]:
    return [Path(place) for place in answer]


def _changes(answer: Any) -> list[Any]:
    # Only commands that show changes need these values.
    from session_memory.core.changes import Change  # noqa: PLC0415

    changes = list(answer)
    for change in changes:
        if not isinstance(change, Change):
            raise TypeError(f"it returned {short_repr(change)}, not a Change")
        # msgspec does not check the fields of a value that was made in Python.
        msgspec.convert(msgspec.to_builtins(change), Change)
    return changes


def _a_reference(answer: Any) -> SourceRef | None:
    return None if answer is None else checked_reference(answer)


def _a_history(answer: Any) -> Any:
    from session_memory.core.history import History, HistoryStep  # noqa: PLC0415

    if not isinstance(answer, History):
        raise TypeError(f"it returned {short_repr(answer)}, not a History")
    for step in answer.steps:
        if not isinstance(step, HistoryStep):
            raise TypeError(f"its history has the step {short_repr(step)}")
        msgspec.convert(msgspec.to_builtins(step), type(step))
    return answer


def _settings(answer: Any) -> dict[str, dict[str, Any]]:
    return msgspec.convert(answer, dict[str, dict[str, Any]])


_WITH_DEFAULT: dict[str, Callable[[Any], Any]] = {
    "recognizes": _a_bool,
    "keeps_days": _days,
    "copies_are_resumes": _a_bool,
    "changes_asked": _changes,
    "changes_noted": _changes,
    "readable": _a_text,
    "outside": _paths,
}
_TRIALS: dict[str, tuple[Any, ...]] = {
    "recognizes": (b"",),
    "directory_fits": ("directory", "repository"),
    "keeps_days": (Path("/"),),
    "outside": (Path("/"),),
    "copies_are_resumes": ("",),
    "changes_asked": ({}, "", None),
    "changes_noted": ({},),
    "readable": ("",),
}
