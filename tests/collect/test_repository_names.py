"""One repository has one name, whichever agent, worktree or machine, and in any order."""

import json
from itertools import permutations
from pathlib import Path

import pytest
from on_a_server import cases

from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.config import Config, Exclusions
from session_memory.retain.forget import forget
from session_memory.store.store import Store
from session_memory.testing.claude import ClaudeHome
from session_memory.testing.codex import BARE, LEGACY, CodexHome
from session_memory.testing.collecting import collect, collected, new_store, rebuilt
from session_memory.views.lessons import repository_at

pytestmark = pytest.mark.every(3)  # Its cases give a server the same statements.

SHOP = "git@github.com:acme/shop.git"


def claude_in(home: Path, session: str, cwd: str, branch: str = "main") -> None:
    claude = ClaudeHome(home, cwd=cwd)
    claude.session(session).prompt("make it work", gitBranch=branch)
    claude.write()


def codex_in(home: Path, name: str, cwd: str, url: str | None = SHOP) -> str:
    codex = CodexHome(home)
    log = codex.session(name, LEGACY, header=False)
    log.meta(cwd=cwd, git={"branch": "main", "repository_url": url})
    log.turn("make it work", cwd=cwd)
    codex.write()
    return log.uid


def repos(store: Store) -> dict[str, str | None]:
    """The repository of each session, by its working directory."""
    return {one.cwd or "": one.repo for one in store.sessions.every()}


def test_a_log_that_names_the_remote_decides_for_the_other_agents(tmp_path: Path) -> None:
    codex_in(tmp_path, "one", "/home/mira/code/ShopFrontend")
    claude_in(tmp_path, "two", "/home/mira/code/ShopFrontend")
    claude_in(tmp_path, "three", "/home/mira/code/ShopFrontend/.worktrees/1")
    claude_in(tmp_path, "four", "/home/mira/code/ShopFrontend/packages/web")
    claude_in(tmp_path, "five", "/home/mira/code/other")
    with collected(tmp_path) as store:
        named = repos(store)
        assert named.pop("/home/mira/code/other") == "other"
        assert set(named.values()) == {"shop"}
        assert repos(rebuilt(store)).items() >= named.items()


def test_a_directory_below_a_repository_belongs_to_it(tmp_path: Path) -> None:
    claude_in(tmp_path, "one", "/home/mira/code/app")
    claude_in(tmp_path, "two", "/home/mira/code/app/frontend/src")
    # The directory of all repositories is none, and neither is one without a branch.
    claude_in(tmp_path, "three", "/home/mira/code")
    claude_in(tmp_path, "four", "/home/mira/notes", branch="")
    claude_in(tmp_path, "five", "/home/mira/notes/todo", branch="")
    with collected(tmp_path) as store:
        assert list(repos(store).values()).count("app") == 2
        assert repos(store)["/home/mira/code"] == "code"
        assert repos(store)["/home/mira/notes/todo"] == "todo"


def test_one_directory_may_serve_several_repositories(tmp_path: Path) -> None:
    """A container has every repository at the same place. Then a remote says nothing of others."""
    codex_in(tmp_path, "one", "/workspace/it")
    codex_in(tmp_path, "two", "/workspace/it", "https://github.com/acme/till")
    claude_in(tmp_path, "three", "/workspace/it")
    with collected(tmp_path) as store:
        assert sorted(str(one.repo) for one in store.sessions.every()) == ["it", "shop", "till"]


ORDERS = list(permutations(range(4)))[::3]


@pytest.mark.parametrize("order", cases(ORDERS, ORDERS[-2:]), ids=str)
def test_the_order_of_arrival_does_not_matter(tmp_path: Path, order: tuple[int, ...]) -> None:
    steps = [
        lambda home: claude_in(home, "one", "/home/mira/code/Front"),
        lambda home: claude_in(home, "two", "/home/mira/code/Front/web/src"),
        lambda home: claude_in(home, "three", "/home/mira/.cursor/worktrees/Front/x"),
        lambda home: codex_in(home, "four", "/home/mira/code/Front/web"),
    ]
    with new_store() as store:
        for step in order:
            steps[step](tmp_path)
            collect(store, tmp_path)
        named = repos(store)
        assert named["/home/mira/code/Front/web/src"] == "shop"
        assert named["/home/mira/code/Front"] == "Front"
        whole = store.fingerprint()
        assert rebuilt(store).fingerprint() == whole
    with collected(tmp_path) as store:
        assert store.fingerprint() == whole


def test_a_rename_reaches_the_analysis_and_the_domain(tmp_path: Path) -> None:
    config = Config(domains={"shop": "sales"})
    claude_in(tmp_path, "one", "/home/mira/code/Front")
    with new_store() as store:
        sync(store, config, roots(config, (tmp_path,), ()), host="here")
        before = store.sessions.row("claude:one")
        codex_in(tmp_path, "two", "/home/mira/code/Front")
        sync(store, config, roots(config, (tmp_path,), ()), host="here")
        after = store.sessions.row("claude:one")
    assert before is not None and after is not None
    assert (before.repo, before.domain) == ("Front", None)
    assert (after.repo, after.domain) == ("shop", "sales")
    assert after.revision > before.revision


def test_forgetting_the_log_that_named_the_remote_takes_the_name_back(tmp_path: Path) -> None:
    claude_in(tmp_path, "one", "/home/mira/code/Front")
    uid = codex_in(tmp_path, "two", "/home/mira/code/Front")
    with collected(tmp_path) as store:
        forget(store, Config(), [uid], 0)
        assert repos(store) == {"/home/mira/code/Front": "Front"}
        whole = store.fingerprint()
        assert rebuilt(store).fingerprint() == whole


def test_a_session_that_a_release_before_named_after_its_worktree_gets_its_name(
    tmp_path: Path,
) -> None:
    claude_in(tmp_path, "one", "/home/mira/code/app/worktrees/1")
    with collected(tmp_path) as store:
        row = store.sessions.row("claude:one")
        assert row is not None
        store.sessions.set_repo(row.id, "1", None)
        claude_in(tmp_path, "two", "/home/mira/code/other")
        collect(store, tmp_path)
        assert repos(store)["/home/mira/code/app/worktrees/1"] == "app"


def test_the_first_versions_of_codex_name_the_directory_in_a_message(tmp_path: Path) -> None:
    codex = CodexHome(tmp_path)
    log = codex.session("one", BARE)
    log.prompt(
        "<environment_context>\n  <cwd>/home/mira/code/old</cwd>\n"
        "  <approval_policy>never</approval_policy>\n</environment_context>"
    )
    log.prompt("make it work")
    codex.write()
    with collected(tmp_path) as store:
        assert repos(store) == {"/home/mira/code/old": "old"}


def test_no_credentials_of_a_remote_are_derived(tmp_path: Path) -> None:
    codex_in(tmp_path, "one", "/home/mira/code/app", "https://mira:s3cr3t@example.com/acme/shop")
    with collected(tmp_path) as store:
        [row] = [store.sessions.row(uid) for uid in store.sessions.uids()]
        assert row is not None and row.repo == "shop"
        assert "s3cr3t" not in row.facts and b"s3cr3t" not in row.state


def test_a_worktree_that_claude_names_belongs_to_where_it_came_from(tmp_path: Path) -> None:
    claude = ClaudeHome(tmp_path, cwd="/home/mira/elsewhere/quiet-fox")
    log = claude.session("one")
    session = {"originalCwd": "/home/mira/code/app", "worktreeName": "quiet-fox"}
    log.note("worktree-state", worktreeSession=session)
    log.prompt("make it work")
    claude.write()
    with collected(tmp_path) as store:
        assert repos(store) == {"/home/mira/elsewhere/quiet-fox": "app"}


@pytest.mark.parametrize(
    ("remotes", "repo"),
    [
        (None, "app"),
        ({"fork": "https://github.com/mira/fork", "origin": SHOP}, "shop"),
        ([{"name": "upstream", "url": SHOP}], "shop"),
        ([SHOP], "shop"),
        ([7, {}], "app"),
        ("rubbish", "app"),
    ],
    ids=str,
)
def test_the_summary_of_grok_names_the_root_and_the_remotes(
    tmp_path: Path, remotes: object, repo: str
) -> None:
    cwd = "/home/mira/code/app/packages/web"
    place = tmp_path / ".grok" / "sessions" / cwd.replace("/", "%2F") / "one"
    place.mkdir(parents=True)
    summary = {"info": {"id": "one", "cwd": cwd}, "git_root_dir": "/home/mira/code/app/"}
    (place / "summary.json").write_text(json.dumps({**summary, "git_remotes": remotes}))
    line = {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "hi"}}
    update = {"method": "session/update", "params": {"sessionId": "one", "update": line}}
    (place / "updates.jsonl").write_text(json.dumps(update) + "\n")
    with collected(tmp_path) as store:
        assert repos(store) == {cwd: repo}


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("pattern", ["shop", "Front", "x"])
def test_a_repository_is_left_out_by_any_of_its_names(tmp_path: Path, pattern: str) -> None:
    codex_in(tmp_path, "one", "/home/mira/code/Front/.worktrees/x")
    config = Config(exclude=Exclusions(repos=[pattern]))
    with new_store() as store:
        sync(store, config, roots(config, (tmp_path,), ()), host="here")
        assert store.sessions.uids() == []


def test_lessons_for_a_file_are_those_of_the_sessions_in_its_directory(tmp_path: Path) -> None:
    codex_in(tmp_path, "one", "/home/mira/code/Front")
    with collected(tmp_path) as store:
        assert repository_at(store, Path("/home/mira/code/Front")) == "shop"
        assert repository_at(store, Path("/home/mira/code/app/.worktrees/1")) == "app"
