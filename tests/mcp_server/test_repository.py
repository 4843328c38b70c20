"""Which repository the server is in, and what git says about files that sessions changed."""

import subprocess
from pathlib import Path

import pytest

from session_memory.views.current_repository import CurrentRepository, FileThen

YEAR_2020, YEAR_2022 = 1_577_836_800_000, 1_640_995_200_000


def git(place: Path, *words: str, day: str = "2021-01-01T00:00:00Z") -> None:
    dates = {"GIT_AUTHOR_DATE": day, "GIT_COMMITTER_DATE": day, "HOME": str(place)}
    names = ("-c", "user.name=a", "-c", "user.email=a@b.invalid")
    subprocess.run(["git", "-C", place, *names, *words], check=True, env=dates | {"PATH": PATH})


PATH = "/usr/local/bin:/usr/bin:/bin"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    place = tmp_path / "checkout"
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    for name in ("one.py", "two.py"):
        (place / name).write_text("1\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "first")
    (place / "two.py").write_text("2\n")
    git(place, "commit", "-qam", "second", day="2023-01-01T00:00:00Z")
    return place


def since(place: Path, moment: int, *paths: str) -> dict[str, str]:
    found = CurrentRepository(place).changes_since(FileThen(path, moment) for path in paths)
    return {one.path: state for one, state in found.items()}


def test_files_say_what_happened_to_them_since(shop: Path) -> None:
    paths = ["one.py", f"{shop}/two.py", "/home/ada/checkout/two.py", "three.py"]
    paths += ["../secret", "/etc/passwd", "a\nb", ".git/config", "-p"]
    assert since(shop, YEAR_2022, *paths) == {
        "one.py": "no commit since",
        f"{shop}/two.py": "1 commit since",
        "/home/ada/checkout/two.py": "1 commit since",
        "three.py": "gone now",
        "-p": "gone now",
    }
    assert since(shop, YEAR_2020, "two.py") == {"two.py": "2 commits since"}
    assert since(shop, 4_000_000_000_000, "one.py") == {"one.py": "unchanged since"}


def test_one_answer_may_ask_about_several_moments(shop: Path) -> None:
    early, late = FileThen("two.py", YEAR_2020), FileThen("two.py", YEAR_2022)
    found = CurrentRepository(shop).changes_since([early, late])
    assert found == {early: "2 commits since", late: "1 commit since"}


def test_no_program_of_the_repository_is_started(shop: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text("#!/bin/sh\ntouch " + str(tmp_path / "sprung") + "\n")
    trap.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "diff.external", "core.sshCommand"):
        git(shop, "config", name, str(trap))
    since(shop, YEAR_2022, "one.py", "two.py")
    assert not (tmp_path / "sprung").exists()


def test_a_repository_is_called_by_its_remote_and_its_directory(shop: Path, tmp_path: Path) -> None:
    assert CurrentRepository(shop / "sub").names == ["checkout"]
    git(shop, "remote", "add", "origin", "https://user:secret@git.invalid/team/shop.git")
    assert CurrentRepository(shop).names[:2] == ["shop", "checkout"]
    git(shop, "worktree", "add", "-q", str(tmp_path / "other"))
    assert CurrentRepository(tmp_path / "other").names[0] == "shop"
    assert CurrentRepository(Path("/")).names == []
    assert since(Path("/"), YEAR_2020, "a") == {}
