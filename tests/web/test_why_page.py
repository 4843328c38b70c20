"""The page that says which session wrote a line, and what it never shows."""

import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from session_memory import Memory
from session_memory.testing.claude import ClaudeHome, call

from .conftest import Client

pytestmark = pytest.mark.only("sqlite")
BODY = 'def area(width, height):\n    return "<b>&" * width * height\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout in which a session wrote a file, and a person another one."""
    root = tmp_path / "code" / "demo"
    root.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(root)], check=True, env={"PATH": "/usr/bin:/bin"})
    (root / "area.py").write_text(BODY)
    (root / "own.py").write_text("MINE = 1\n")
    (tmp_path / "outside.txt").write_text("outside\n")
    (root / "link.py").symlink_to(tmp_path / "outside.txt")
    return root


@pytest.fixture
def page(root: Path, tmp_path: Path, client_of: Client) -> TestClient:
    home = ClaudeHome(tmp_path / "home", cwd=str(root))
    log = home.session("work")
    log.prompt("compute the <i>area</i>")
    for name in ("area.py", "link.py"):
        log.answer("I write it.", call("Write", file_path=str(root / name), content=BODY))
        log.result("written")
    with Memory(tmp_path / "memory.db") as memory:
        memory.sync(roots=[home.write()])
    return client_of(tmp_path / "memory.db")


def test_it_names_the_session_the_prompt_and_the_edit(page: TestClient, root: Path) -> None:
    shown = page.get(f"/why?path={quote(str(root / 'area.py'))}&line=2").text
    assert "compute the &lt;i&gt;area&lt;/i&gt;" in shown
    assert "&lt;b&gt;&amp;" in shown and "<b>" not in shown
    assert '<div class="ln ad" aria-current="true"><span class="muted">2</span>' in shown
    assert 'href="/s/claude:work/e/' in shown
    answer = page.get(f"/api/v1/why?path={quote(str(root / 'area.py'))}&line=2").json()
    assert [(one["number"], one["session_uid"]) for one in answer["lines"]] == [(2, "claude:work")]


def test_the_changes_of_a_session_and_a_search_for_a_path_lead_to_it(
    page: TestClient, root: Path
) -> None:
    place = quote(str(root / "area.py"))
    assert f'href="/why?path={place}"' in page.get("/s/claude:work/changes").text
    found = page.get(f"/sessions?q={place}:2").text
    assert f'href="/why?path={quote(str(root / "area.py"), safe="")}&amp;line=2"' in found


@pytest.mark.parametrize(
    "name", ["own.py", "link.py", ".git/config", "nothing.py", "../../outside.txt", ".", "\0"]
)
def test_files_that_no_session_changed_are_not_shown(
    page: TestClient, root: Path, name: str
) -> None:
    shown = page.get(f"/why?path={quote(f'{root}/{name}')}").text
    assert 'class="ln' not in shown and "Open a file from the changes" in shown
    assert page.get(f"/api/v1/why?path={quote(f'{root}/{name}')}").status_code in (400, 404)


def test_a_line_that_is_not_there_is_said(page: TestClient, root: Path) -> None:
    shown = page.get(f"/why?path={quote(str(root / 'area.py'))}&line=9").text
    assert "area.py has 2 lines" in shown
    assert page.get("/why").status_code == 200


def test_the_command_palette_finds_the_page_in_the_frame(page: TestClient) -> None:
    """It lists the links of the rail. This one is hidden: nobody starts from there."""
    assert '<a class="go" href="/why" hidden>Why is this line here?</a>' in page.get("/").text
