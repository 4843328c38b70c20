"""The migration steps: modules named ``step<number>_<name>``, each with its statements in ``SQL``.

To change the tables, add a module with the next number. Nothing else lists the steps.
"""

from importlib import import_module
from pathlib import Path


def step_names() -> list[str]:
    """The names of the modules in the order of their numbers, which must be 1, 2, 3, …"""
    names = [file.stem for file in Path(__file__).parent.glob("step*_*.py")]
    modules = {int(name.removeprefix("step").partition("_")[0]): name for name in names}
    if sorted(modules) != list(range(1, len(names) + 1)):
        missing = sorted(set(range(1, len(names) + 1)) - modules.keys())
        raise RuntimeError(
            f"migration steps must be numbered 1, 2, 3, …: {missing} missing or given twice"
        )
    return [modules[number] for number in sorted(modules)]


def load_steps() -> tuple[str, ...]:
    """The SQL of all steps in the order of their numbers."""
    return tuple(import_module(f"{__name__}.{name}").SQL for name in step_names())
