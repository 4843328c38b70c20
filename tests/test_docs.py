"""The documents keep their word: links lead somewhere, code on a page runs, budgets have rows."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest
from click.testing import CliRunner
from forking import run_in_new_python

import session_memory
from session_memory.adapters.base import Cursor, Record, SourceRef
from session_memory.adapters.claude import AGENT as claude
from session_memory.adapters.claude import translate
from session_memory.adapters.registry import SHARED
from session_memory.cli import main
from session_memory.collect.discover import roots
from session_memory.collect.native import FileSource
from session_memory.collect.sync import sync
from session_memory.config import Config
from session_memory.core.schema import Cost, Session
from session_memory.demo import demo_home
from session_memory.store import Store, open_store
from session_memory.store.copying import copy_everything
from session_memory.testing.stores import PostgresStores

CHECKOUT = Path(__file__).resolve().parent.parent
DOCS = CHECKOUT / "docs"
PAGES = sorted([*CHECKOUT.glob("*.md"), *DOCS.rglob("*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def blocks(page: Path, language: str) -> list[str]:
    """The code on a page, in one language, from top to bottom."""
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [code for name, code in found if name == language]


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing here reads the machine's own logs or settings."""
    place = tmp_path / "home"
    place.mkdir()
    for name in ("SESSION_MEMORY_STORE", "SESSION_MEMORY_CONFIG", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.chdir(tmp_path)
    return place


@pytest.fixture
def store() -> Iterator[Store]:
    """A store with the bundled demo sessions."""
    config = Config()
    with open_store(":memory:") as opened:
        sync(opened, config, roots(config, (demo_home(),)), host="demo")
        yield opened


# ---------------------------------------------------------------- links


def anchors(page: Path) -> set[str]:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        assert place.exists(), f"{page.name} links to {target}"
        assert place.is_relative_to(CHECKOUT), f"{page.name} links outside: {target}"
        if anchor and place.suffix == ".md":
            assert anchor in anchors(place), f"{page.name} links to {target}"


def test_every_field_of_a_session_is_explained() -> None:
    page = (DOCS / "concepts.md").read_text(encoding="utf-8")
    section = page.partition("## The record of a session\n")[2].partition("\n## ")[0]
    names = {field.name for record in (Session, Cost) for field in fields(record)}
    missing = names - set(re.findall(r"`(\w+)`", section))
    assert not missing, f"docs/concepts.md, The record of a session, lacks {sorted(missing)}"


def test_every_page_is_listed_or_linked_in_the_contents() -> None:
    contents = (DOCS / "README.md").read_text(encoding="utf-8")
    for page in DOCS.glob("*.md"):
        assert page.name == "README.md" or f"({page.name})" in contents, page.name


# The logs of these agents are described on another page.
FORMAT_PAGES = {"skill": "skills.md"}


def test_every_agent_has_a_page_about_its_format_that_is_listed_in_the_contents() -> None:
    contents = (DOCS / "README.md").read_text(encoding="utf-8")
    places = (Path(session_memory.__file__).parent / "adapters").glob("*/__init__.py")
    for flavor in sorted({place.parent.name for place in places} - SHARED):
        page = FORMAT_PAGES.get(flavor, f"formats/{flavor}.md")
        assert (DOCS / page).is_file(), f"write docs/{page}: the format of the logs, with evidence"
        assert f"]({page})" in contents, f"list docs/{page} in docs/README.md"


# ---------------------------------------------------------------- budgets


def test_every_budget_of_this_release_has_its_row() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (DOCS / "performance.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    for budget in loaded(CHECKOUT / "benchmarks" / "budgets.py").BUDGETS:
        assert [budget.what, budget.budget] in [row[:2] for row in rows], budget.what


def test_every_budget_of_the_design_is_measured_or_comes_later() -> None:
    shared = Path(os.environ.get("SESSION_MEMORY_SHARED") or CHECKOUT.parent / "shared")
    design = shared / "DESIGN.md"
    if not design.is_file():
        pytest.skip("DESIGN.md is only in the directory shared: set SESSION_MEMORY_SHARED")
    section = design.read_text(encoding="utf-8").partition("## 12. Budgets")[2]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    named = {line.split(" | ")[0].removeprefix("| ").strip() for line in lines[1:]}
    budgets = loaded(CHECKOUT / "benchmarks" / "budgets.py")
    assert named == {*budgets.IN_DESIGN, *budgets.LATER}
    figures = {budget.figure for budget in budgets.BUDGETS}
    assert all(figures.issuperset(answers) for answers in budgets.IN_DESIGN.values())


# ---------------------------------------------------------------- the command line


def test_every_command_is_documented() -> None:
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    shown = CliRunner().invoke(main, ["--help"]).output
    for name in main.list_commands(click.Context(main)):
        assert re.search(rf"^  {name}(, \w+)?  ", shown, re.MULTILINE), f"{name} is not in --help"
        assert f"]({'cli/' + name}.md)" in text, f"{name} is not in cli.md"
        assert (DOCS / "cli" / f"{name}.md").exists()


# ---------------------------------------------------------------- code on a page


@pytest.mark.parametrize(
    "page",
    [
        *(DOCS / "python-api.md", DOCS / "learning.md", CHECKOUT / "README.md"),
        # SWITCHING 2.79, 3.101
        *sorted((DOCS / "coming-from").glob("*.md")),
    ],
    ids=str,
)
def test_the_python_on_a_page_runs_from_top_to_bottom(page: Path) -> None:
    names: dict[str, Any] = {}
    for number, code in enumerate(blocks(page, "python"), start=1):
        exec(compile(code, f"{page.name} block {number}", "exec"), names)
    if page.name == "README.md":
        names["memory"].close()


def test_every_public_name_is_on_the_python_page() -> None:
    text = (DOCS / "python-api.md").read_text(encoding="utf-8")
    for name in session_memory.__all__:
        assert re.search(rf"`{name}\b", text), name


def test_the_sql_on_the_database_page_runs(store: Store) -> None:
    answered = 0
    for sql in blocks(DOCS / "database.md", "sql"):
        answered += bool(store.db.all(sql))
    assert answered >= 6


def test_the_sql_on_the_database_page_runs_on_a_server_with_the_words_of_its_page(
    server_stores: PostgresStores, store: Store
) -> None:
    text = (DOCS / "postgresql.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| `(date\(.+?|x')` \| `(.+?)` \|$", text, re.MULTILINE)
    assert len(words) == 2
    with server_stores.new() as server:
        copy_everything(store, server)
        for sql in blocks(DOCS / "database.md", "sql"):
            there = sql
            for ours, theirs in words:
                there = there.replace(ours, theirs)
            assert len(server.db.all(there.rstrip().rstrip(";"))) == len(store.db.all(sql))


def test_the_database_page_names_every_table_and_view(store: Store) -> None:
    text = (DOCS / "database.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    sql = "select name from sqlite_master where type in ('table', 'view')"
    there = {row[0] for row in store.db.all(sql)}
    engines = tuple(name for name in there if f"{name}_data" in there)
    # What an index is made of is its engine's own business.
    parts = {name for name in there for engine in engines if name.startswith(f"{engine}_")}
    assert told == there - parts


def test_the_database_page_names_every_column_of_the_views(store: Store) -> None:
    text = (DOCS / "database.md").read_text(encoding="utf-8")
    for view in ("event_view", "usage_view"):
        columns = [row[1] for row in store.db.all(f"pragma table_info({view})")]
        assert f"`{', '.join(columns)}`" in text, view


# ---------------------------------------------------------------- formats/claude.md


def test_the_claude_page_names_every_line_type_that_is_read() -> None:
    text = (DOCS / "formats" / "claude.md").read_text(encoding="utf-8")
    for kind in {*claude.bookkeeping, *translate._TRANSLATE}:
        assert f"`{kind}`" in text, kind


# ---------------------------------------------------------------- adding-an-adapter.md

GUIDE = DOCS / "adding-an-adapter.md"


@pytest.fixture
def parley(tmp_path: Path, home: Path) -> Path:
    """The guide's adapter installed as a package of its own, and its log where it belongs."""
    site = tmp_path / "site"
    about = site / "parley_adapter-1.0.dist-info"
    about.mkdir(parents=True)
    about.joinpath("METADATA").write_text(
        "Metadata-Version: 2.1\nName: parley-adapter\nVersion: 1.0\n"
    )
    group, entry = re.findall(r'entry-points\."(.+)"\]\n(parley) = ', GUIDE.read_text())[0]
    about.joinpath("entry_points.txt").write_text(f"[{group}]\n{entry} = parley_adapter\n")
    (site / "parley_adapter.py").write_text(blocks(GUIDE, "python")[0])
    log = home / ".parley" / "sessions" / "s1.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text(blocks(GUIDE, "jsonl")[0])
    return site


def run_with(site: Path, *commands: str, status: int = 0) -> list[Any]:
    """What commands answer in a process where the package below ``site`` is installed."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *sys.path])}
    words = [f"{command} --store memory.db --json" for command in commands]
    done = run_in_new_python(*words, env=env)
    assert [one.exit_code for one in done] == [status] * len(words), done
    return [json.loads(one.stdout) for one in done]


def test_the_adapter_of_the_guide_collects(parley: Path) -> None:
    report, shown, sources, proof = run_with(
        parley, "sync", "show parley:s1", "sources --accounting", "verify"
    )
    assert (report["discovered"], report["events"], report["problems"]) == (1, 5, 0)
    kinds = [(event["kind"], event["marks"], event["native_kind"]) for event in shown["events"]]
    assert kinds == [
        ("user_msg", [], "said"),
        ("test_run", ["tool_call"], "call"),
        ("error", ["tool_result"], "result"),
        ("assistant_msg", ["completion"], "said"),
        ("lifecycle", [], "mood"),
    ]
    cost = shown["session"]["cost"]
    assert (cost["input_tokens"], cost["cache_read_tokens"], cost["output_tokens"]) == (20, 100, 9)
    assert cost["turns"] == 1
    assert sources["bookkeeping_kinds"] == {"tick": 1}
    assert proof["ok"]


def test_the_contract_of_the_guide_runs_over_its_adapter(parley: Path, home: Path) -> None:
    (parley / "test_parley.py").write_text(blocks(GUIDE, "python")[2])
    shutil.copytree(home / ".parley", parley / "samples")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider"],
        cwd=parley,
        capture_output=True,
        text=True,
        timeout=120,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(parley), *sys.path]),
            # The contract needs none, and their imports take longer than it does.
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout and " failed" not in done.stdout


IN_PROJECT = """
import sys
from pathlib import Path
from session_memory import adapters
adapters.__path__.append(sys.argv[1])
from session_memory.adapters import registry
from session_memory.testing.collecting import collected, events_of
agent = registry.agent("parley")
assert "session_memory.adapters.parley.source" not in sys.modules
with collected(Path(sys.argv[2]), flavor="parley") as store:
    print(len(events_of(store, "parley:s1")), registry.broken_adapters())
"""


def test_the_adapter_of_the_guide_works_as_a_package_of_this_project(
    tmp_path: Path, home: Path, parley: Path
) -> None:
    package = tmp_path / "adapters" / "parley"
    package.mkdir(parents=True)
    source, declaration, _ = blocks(GUIDE, "python")
    (package / "__init__.py").write_text(declaration)
    (package / "source.py").write_text(source.partition("\nAGENT = ")[0])
    done = subprocess.run(
        [sys.executable, "-c", IN_PROJECT, str(package.parent), str(home / ".parley")],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.stdout, done.stderr) == ("5 {}\n", "")


HOSTILE = (
    b'{"what": "said", "by": "person", "text": "\\ud800 \\u0000", "at": 7, "id": ["no"]}\n'
    b'{"what": "call", "args": ' + b"[" * 5000 + b"]" * 5000 + b"}\n"
    b"[1, 2]\n\xff\xfe\nnull\n"
    b'{"what": "said", "by": "model", "tokens": {"in": -1, "out": 1e400}, "id": "m9"}\n'
    b'{"what": ["said"], "id": "../=m\\u0000", "tokens": {"in": 1' + b"0" * 40 + b"}}\n"
    b'{"what": "said", "by": "per'
)


def test_the_adapter_of_the_guide_stops_anywhere_and_survives_anything(
    parley: Path, home: Path
) -> None:
    adapter = loaded(parley / "parley_adapter.py")
    log = home / ".parley" / "sessions" / "s1.jsonl"
    log.write_bytes(log.read_bytes() + HOSTILE)
    (ref,) = (found for found in adapter.discover(home / ".parley"))
    assert isinstance(ref, SourceRef)

    def read(cursor: Cursor) -> list[tuple[Cursor, Record]]:
        return list(adapter.read(FileSource(ref), cursor))

    whole = read(Cursor())
    assert len(whole) == 13
    assert [record.problem for _, record in whole].count("malformed line") == 4
    for seen, (cursor, _) in enumerate(whole, start=1):
        assert whole[:seen] + read(cursor) == whole
    (report,) = run_with(parley, "sync", status=3)
    # Four malformed lines, and two lines with a count of tokens that cannot be true.
    assert (report["failed"], report["problems"]) == (0, 6)
