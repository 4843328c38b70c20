"""Texts that are shown without the paths of one machine."""

import pytest

from session_memory.core.text import below_repo, without_place


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cd /home/mira/code/app && bun run lint", "cd app && bun run lint"),
        ("edit /home/mira/code/app/src/a.ts, ~/app/b.ts", "edit src/a.ts, b.ts"),
        ("cd ~/app", "cd app"),
        ("see https://example.com/mira/app/issues/3", "see https://example.com/mira/app/issues/3"),
        ("git clone https://example.com/mira/app", "git clone https://example.com/mira/app"),
        ("cd /home/mira/app-two && make", "cd /home/mira/app-two && make"),
        ("nothing of it", "nothing of it"),
        ("/home/mira/My Files~2/app/src/a.ts", "src/a.ts"),
        ("/home/mira/My Files/app/src/a.ts, ~/app/b.ts", "src/a.ts, b.ts"),
        ("/usr/bin/cat lib/app/a.ts", "/usr/bin/cat a.ts"),
        ('cat "/home/mira/My Files/app/a.ts"', 'cat "a.ts"'),
    ],
)
def test_paths_start_below_the_repository(text: str, shown: str) -> None:
    assert below_repo(text, "app") == shown


@pytest.mark.parametrize("repo", [None, "", r"a\1(", "[x"])
def test_any_name_of_a_repository_is_taken_as_it_is(repo: str | None) -> None:
    assert below_repo("cd /srv/shop && make", repo) == "cd /srv/shop && make"


def test_the_directory_may_be_shown_whole() -> None:
    text = "cd /srv/app && cat /srv/app/a.ts"
    assert below_repo(text, "app", whole_root=True) == "cd /srv/app && cat a.ts"


@pytest.mark.parametrize(
    "command", ["cd /srv/app && make", 'cd "/srv/My Files/app"; make', "cd app\nmake", "make"]
)
def test_the_directory_before_a_command_is_left_out(command: str) -> None:
    assert without_place(command) == "make"
