"""The public names of the package are a promise: adding one is a decision, losing one a break."""

import subprocess
import sys

import session_memory

PUBLIC_NAMES = [
    "AsyncMemory",
    "AsyncSessionStore",
    "Attempt",
    "Cost",
    "Entry",
    "Memory",
    "Session",
    "SessionEvent",
    "SessionMemoryError",
    "SessionQuery",
    "SessionStore",
    "StoredSession",
    "Usage",
    "__version__",
    "open_store",
]


def test_the_public_names_are_these_and_sorted() -> None:
    assert session_memory.__all__ == PUBLIC_NAMES
    assert sorted(PUBLIC_NAMES) == PUBLIC_NAMES


def test_every_public_name_can_be_imported_and_is_listed() -> None:
    for name in PUBLIC_NAMES:
        assert getattr(session_memory, name) is not None
        assert name in dir(session_memory)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(session_memory, "open_shop")


def test_importing_the_package_imports_none_of_its_rooms() -> None:
    code = (
        "import sys, session_memory;"
        "print(*[name for name in sys.modules if name.startswith('session_memory.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == []
