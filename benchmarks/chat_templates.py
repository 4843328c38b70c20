"""Training rows in chat templates: how many templates render them rightly.

    python benchmarks/chat_templates.py DATA             the templates in the package trl
    python benchmarks/chat_templates.py DATA --templates DIR

DATA is what `session-memory train export` wrote. Templates that say nothing about tool calls are
left out. The package is downloaded by name, without what it needs; nothing of it is run but its
templates, in a sandbox.
"""

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from session_memory.testing.chat_templates import rendered


def templates_in(place: Path) -> dict[str, str]:
    """The templates that know tool calls, by name."""
    found = {path.stem: path.read_text("utf-8") for path in sorted(place.rglob("*.jinja"))}
    return {name: text for name, text in found.items() if "tool_calls" in text}


def downloaded(scratch: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "trl"]
    subprocess.run([*command, "--dest", str(scratch)], check=True)
    (wheel,) = scratch.glob("trl-*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(scratch / "trl")
    return scratch / "trl"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--templates", type=Path, metavar="DIR")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = options.templates or downloaded(Path(scratch))
        found = rendered(options.data, templates_in(place))
    for name, reason in found.items():
        print(f"{name:<40} {reason or 'right'}")
    right = sum(reason is None for reason in found.values())
    print(f"{right} of {len(found)} templates that know tool calls render every row rightly")
    return int(right < len(found))


if __name__ == "__main__":
    sys.exit(main())
