"""Every page and every key is in docs/web.md."""

import re
from pathlib import Path

import pytest

from session_memory.web.routes import API, ROUTES

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "web.md").read_text(encoding="utf-8")
KEYS = (ROOT / "src/session_memory/web/static/keys.js").read_text(encoding="utf-8")
pytestmark = pytest.mark.only("sqlite")
# Parts of pages, which a script asks for, and forms.
PARTS = ("rows", "turns", "outline", "strip", "find", "inspect", "body", "image")


def test_every_key_of_the_help_is_documented() -> None:
    table = KEYS[KEYS.index("const HELP") : KEYS.index("];")]
    keys = {
        key for keys, _ in re.findall(r'\["([^"]+)", "([^"]+)"\]', table) for key in keys.split()
    }
    assert len(keys) > 25
    # A key with Shift goes back, and is said once for all.
    plain = {key for key in keys if not (key.isupper() and key.lower() in keys)}
    shown = set(re.findall(r"`([^`]+)`", PAGE[PAGE.index("## Keys") :]))
    assert {key.replace("Ctrl+K", "K") for key in plain} - shown == set()


def test_every_page_is_documented() -> None:
    for route in ROUTES:
        if route.path.startswith(API) or "GET" not in route.methods:
            continue
        names = [part for part in route.path.split("/") if part and "{" not in part]
        if names and names[-1] not in PARTS:
            assert f"/{names[-1]}" in PAGE or f"/{names[0]}/" in PAGE and names == ["s"], route.path


def test_every_test_that_a_point_names_exists() -> None:
    here = Path(__file__).parent
    named = re.findall(r"`(test_\w+)`", (here / "ACCEPTANCE.md").read_text())
    known = "".join(path.read_text() for path in sorted(here.glob("test_*.py")))
    assert [name for name in named if f"def {name}(" not in known] == []
    assert len(named) > 50
