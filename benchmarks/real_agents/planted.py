"""A repository with a check that fails, and a memory that knows how to mend it.

The logs are invented sessions of Claude Code in this very repository, but the error in them is what
the check prints when it runs. They are collected and analyzed by the program itself.
"""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

KNOWN = "python3 tools/check_prices.py"
UNKNOWN = "python3 tools/check_stock.py"
QUERY = "currency table with net amounts"
# Words of the planted sessions that no prompt and no program of the bench contains.
MENDED = "tax_rate net_minor"
RECALLED = "Let the currency table carry net amounts"

CHECKED_FILES = {
    "tools/check_prices.py": "import price_columns\n\nprice_columns.check()\n",
    "tools/price_columns.py": '''\
COLUMNS = "gross_minor tax_rate".split()


class PriceTableError(Exception):
    """A price table is not as it should be."""


def check():
    if "net_minor" not in COLUMNS:
        raise PriceTableError("currency table EUR has no column net_minor")
''',
    "tools/check_stock.py": '''\
class StockDriftError(Exception):
    """Counted and booked stock differ."""


def check(counted, booked):
    if counted != booked:
        raise StockDriftError("warehouse Ghent counted pallets that nobody booked")


check(41, 40)
''',
    "README.md": "# Webshop\n",
}
_START = datetime(2026, 11, 2, 9, tzinfo=UTC)
_TASKS = (
    RECALLED,
    "Add the tax rate to the price export",
    "Repair the check of the price tables",
    "Speed up the search of the shop",
)


def plant(program: str, store: Path, repo: Path, scratch: Path) -> None:
    """Write the logs to a home of their own, and collect and analyze them into the store."""
    shown = subprocess.run(
        [sys.executable, *KNOWN.split()[1:]], cwd=repo, text=True, capture_output=True
    )
    folder = scratch / ".claude" / "projects" / str(repo).replace("/", "-").replace(".", "-")
    folder.mkdir(parents=True)
    for number, task in enumerate(_TASKS):
        native = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{task} {number}"))
        fails = number != 3
        lines = _lines(native, repo, task, shown.stderr if fails else None, number)
        (folder / f"{native}.jsonl").write_text("".join(lines))
    store.parent.mkdir(parents=True, exist_ok=True)
    environment = {
        "HOME": str(scratch),
        "PATH": os.environ["PATH"],
        "SESSION_MEMORY_STORE": str(store),
    }
    subprocess.run([program, "sync", "--analyze", "--quiet"], env=environment, check=True)


def _lines(native: str, repo: Path, task: str, error: str | None, number: int) -> Iterator[str]:
    mended = {
        "file_path": str(repo / "tools" / "price_columns.py"),
        "old_string": 'COLUMNS = "gross_minor tax_rate".split()',
        "new_string": f'COLUMNS = "gross_minor {MENDED}".split()',
    }
    blocks: list[tuple[str, Any]] = [("user", task)]
    if error is not None:
        blocks += [
            ("assistant", [_call("c1", "Bash", {"command": KNOWN})]),
            ("user", [_result("c1", f"Exit code 1\n{error}", is_error=True)]),
            ("assistant", [_text("The column is not in the list of columns. I add it there.")]),
            ("assistant", [_call("c2", "Edit", mended)]),
            ("user", [_result("c2", "The file has been updated.", is_error=False)]),
            ("assistant", [_call("c3", "Bash", {"command": KNOWN})]),
            ("user", [_result("c3", "all price tables are right", is_error=False)]),
        ]
    blocks.append(("assistant", [_text(f"Done: {task.lower()}.")]))
    parent = None
    for place, (role, content) in enumerate(blocks):
        own = f"{native[:24]}{place:012d}"
        message: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant":
            usage = {"input_tokens": 900, "output_tokens": 40}
            message |= {"id": f"msg_{own}", "model": "claude-sonnet-4-5", "usage": usage}
        moment = _START + timedelta(days=2 * number, seconds=20 * place)
        line = {
            "type": role,
            "uuid": own,
            "parentUuid": parent,
            "sessionId": native,
            "cwd": str(repo),
            "gitBranch": "main",
            "version": "2.1.0",
            "timestamp": moment.isoformat(),
            "message": message,
        }
        yield json.dumps(line) + "\n"
        parent = own


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _call(name: str, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": tool, "input": given}


def _result(name: str, text: str, *, is_error: bool) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": text, "is_error": is_error}
