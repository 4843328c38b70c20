"""The repository of one session, by the paths and the remote in its log."""

import pytest

from session_memory.core.remotes import remote_name
from session_memory.derive.repositories import LoggedPlace, checkout_of, repo_of


@pytest.mark.parametrize(
    ("cwd", "repo"),
    [
        ("/home/mira/code/app", "app"),
        ("/home/mira/code/app/", "app"),
        ("/home/mira/code/app/.worktrees/1", "app"),
        ("/home/mira/code/app/worktrees/1/packages/web", "app"),
        ("/home/mira/code/app/.claude/worktrees/agent-a1b2", "app"),
        ("/home/mira/code/app/.claude/worktrees/fix/src", "app"),
        ("/home/mira/code/app/wt/feature/login", "app"),
        ("/home/mira/code/app/.conductor/lisbon", "app"),
        ("/home/mira/.codex/worktrees/3f0a/app", "app"),
        ("/home/mira/.codex/worktrees/3f0a/app/src", "app"),
        ("/home/mira/.cursor/worktrees/app/qxz", "app"),
        ("/home/mira/worktrees/app/fix-login", "app"),
        ("/home/mira/Projects/wt/app/fix-login", "app"),
        ("/home/mira/conductor/workspaces/app/lisbon", "app"),
        ("/home/mira/code/app-wt-fix-login", "app"),
        ("/home/mira/code/app-worktree-2", "app"),
        ("/home/mira/code/app-worktrees/fix-login", "app"),
        ("/home/mira/code/app.wt/fix-login/src", "app"),
        ("C:\\Users\\mira\\code\\app", "app"),
        ("C:\\Users\\mira\\code\\app\\.worktrees\\1", "app"),
        ("/mnt/c/Users/mira/app/.worktrees/1", "app"),
        # Names that only look like a worktree's.
        ("/home/mira/code/git-worktree-runner", "git-worktree-runner"),
        ("/home/mira/code/worktrees", "worktrees"),
        ("/home/mira/code/newt", "newt"),
        ("/home/mira/worktrees/app", "app"),
        # No repository.
        ("/home/mira", None),
        ("/Users/mira/", None),
        ("C:\\Users\\mira", None),
        ("/root", None),
        ("/", None),
        ("/tmp", None),
        ("/private/tmp", None),
        ("/tmp/try-1", "try-1"),
        (None, None),
        ("", None),
    ],
)
def test_the_path_of_a_worktree_names_its_repository(cwd: str | None, repo: str | None) -> None:
    assert repo_of(LoggedPlace(cwd)) == repo


def test_the_remote_decides_and_then_the_main_checkout_that_the_log_names() -> None:
    place = LoggedPlace("/home/mira/elsewhere/x", root="/home/mira/code/app")
    assert repo_of(place) == "app"
    assert repo_of(place._replace(name="shop")) == "shop"


def test_a_checkout_is_the_same_however_its_path_is_written() -> None:
    assert checkout_of("C:\\Work\\app\\") == checkout_of("c:/Work/app")


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://github.com/acme/shop.git", "shop"),
        ("https://github.com/acme/shop", "shop"),
        ("https://github.com/acme/shop/", "shop"),
        ("git@github.com:acme/shop.git", "shop"),
        ("ssh://git@example.com:2222/acme/shop.git", "shop"),
        ("https://mira:s3cr3t@example.com/acme/shop.git", "shop"),
        ("https://example.com/acme/shop.git?token=s3cr3t#x", "shop"),
        ("https://dev.azure.com/acme/web/_git/shop", "shop"),
        ("example.com:shop.git", "shop"),
        ("/srv/git/shop.git", "shop"),
        ("../shop", "shop"),
        ("file:///srv/git/shop.git", "shop"),
        ("C:\\git\\shop.git", "shop"),
        ("git@github.com:mira/mira.github.io", "mira.github.io"),
        ("https://mira:s3cr3t@example.com", None),
        ("https://mira:s3cr3t@example.com/", None),
        ("mira@example.com", None),
        ("", None),
        ("..", None),
        (".git", None),
        ("x" * 3000, None),
        (None, None),
        (7, None),
        ({"url": "x"}, None),
    ],
)
def test_a_remote_gives_a_name_and_no_credentials(url: object, name: str | None) -> None:
    assert remote_name(url) == name
