"""Training rows in chat templates: how many templates render them rightly.

    python benchmarks/chat_templates.py DATA             the templates in the package trl
    python benchmarks/chat_templates.py DATA --templates DIR

DATA is what `session-memory train export` wrote. Templates that do not support tools, by the test
of TRL (`supports_tools`), are left out. The package is downloaded by name, without what it needs.
Nothing of it is run but its templates, in a sandbox.
"""

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from session_memory.testing.chat_templates import rendered, supports_tools


def templates_in(place: Path) -> dict[str, str]:
    """The templates that support tools, by name."""
    found = {path.stem: path.read_text("utf-8") for path in sorted(place.rglob("*.jinja"))}
    return {name: text for name, text in found.items() if supports_tools(text)}


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
    print(f"{right} of {len(found)} templates that support tools render every row rightly")
    return int(right < len(found))


if __name__ == "__main__":
    sys.exit(main())
