"""Names of a package that are imported on first use, so that importing the package costs little.

A program that must start quickly needs one module of a large package, and Python always runs the
package's ``__init__`` before it.
"""

# Importing ``typing`` takes longer than the rest of this module, so this name is not imported from
# it. Type checkers take any name ``TYPE_CHECKING`` for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def late_names(package: str, modules: "dict[str, str]") -> "Callable[[str], Any]":
    """Return a ``__getattr__`` for a package. ``modules``: name → the module that defines it."""

    def get(name: str) -> "Any":
        module = modules.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415
        from sys import modules as loaded  # noqa: PLC0415

        value = getattr(import_module(f"{package}.{module}"), name)
        setattr(loaded[package], name, value)
        return value

    return get
