"""The web page over a large store, in Chromium, with agentsview beside it.

    python benchmarks/web.py --keep DIR          uses the store in DIR, or makes it there
    python benchmarks/web.py --sessions 20000    a smaller store, in a temporary directory
    python benchmarks/web.py --keep DIR --write  writes the table into docs/web.md
    python benchmarks/web.py --no-peer --json

The store holds 100,000 invented sessions, their subagents, and one session of 100,005 events. To
make it takes minutes; it is kept in DIR and copied for each run. The server is started as a person
starts it, and follows one log that grows. agentsview is taken from the PATH or from PyPI, and gets
logs of the same kind and the same long session, but fewer sessions (--peer-sessions).

The median and the slowest of several times are printed next to the budget. Times depend on the
machine and on what else it does: compare them within one run.
"""

import argparse
import gzip
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from web_browser import (
    BROWSERS,
    Subject,
    appended_to_page,
    launched,
    measure,
    typed_here,
    typed_in_palette,
)
from web_server import Peer, Server, peer_program, peer_store
from web_store import LONG, make_store

import session_memory.web as web
from session_memory import open_store

PAGE = Path(__file__).parent.parent / "docs" / "web.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
SESSIONS, PEER_SESSIONS = 100_000, 2_000
LONG_UID = f"claude:{LONG}"
APPENDED = 25
IDLE_S, SETTLED_S = 30, 8
STARTS = 5
LIVE = "aaaaaaaa-0000-4000-8000-00000000000a"
PAGES = (
    *("/", "/sessions", "/sessions?sort=cost", "/cost", "/cost?range=all", "/work", "/work?all=1"),
    *("/learn", "/lessons", "/retro", "/keep", "/settings", f"/s/{LONG_UID}"),
)
PARTS = (("/", "money"), ("/", "patterns"), ("/sessions", "facets"))
# Milliseconds, unless the name says otherwise.
BUDGETS: dict[str, float] = {
    "start to first answer, CPU": 350,
    "start to first answer": 500,
    "memory when idle, MB": 60,
    "memory after 100 pages, MB": 150,
    "a page, warm": 50,
    "start page, first contentful paint": 500,
    "start page, complete": 500,
    "start page, complete, first time": 500,
    "start page, requests": 12,
    "search, key to hits": 120,
    "long session, first event": 300,
    "long session, deep link": 400,
    "long session, nodes": 6000,
    "long session, heap, MB": 25,
    "appended line to page": 1000,
    "processor when nobody looks, %": 0.1,
    "processor with one idle tab, %": 0.5,
    "scripts, gzip, KB": 15,
    "style, gzip, KB": 8,
}
# Budgets that are a share of agentsview's figure in the same run.
SHARES = {"scrolling, frame p95": 1 / 4, "scrolling, longest task": 1 / 10}

Figures = dict[str, tuple[float, float]]


def over_http(server: Server, figures: Figures) -> None:
    """Every page asked for the first time, again, and after another session was written to."""
    for path in PAGES:
        figures[f"first time: {path}"] = server.cost_of(path)
    for path, part in PARTS:
        figures[f"first time: {path} {part}"] = server.cost_of(path, part)
    warm = {path: sorted(server.ask(path)[0] for _ in range(5)) for path in PAGES}
    worst = max(warm, key=lambda path: warm[path][2])
    figures["a page, warm"] = (warm[worst][2], warm[worst][4])
    for _ in range(100 // len(PAGES) + 1):
        for path in PAGES:
            server.ask(path)
    figures["memory after 100 pages, MB"] = (server.megabytes, server.megabytes)


def after_a_change(server: Server, log: Path, figures: Figures) -> None:
    """Pages asked again right after the live session was written to."""
    for path in PAGES:
        server.ask(path)
    with log.open("a") as file:
        file.write(_line(9000, "for the caches"))
    quiet(server)
    for path in PAGES:
        figures[f"after another session grew: {path}"] = server.cost_of(path)


def idle(server: Server, seconds: float) -> float:
    """How much of a processor the server uses, in percent."""
    before, began = server.cpu_ms, time.perf_counter()
    time.sleep(seconds)
    return (server.cpu_ms - before) / (time.perf_counter() - began) / 10


def quiet(server: Server) -> None:
    """Wait until the server has finished its work: collecting, and answers nobody waits for."""
    for _ in range(60):
        if idle(server, 1) < 2:
            return


def _line(number: int, words: str) -> str:
    stamp = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    message = {"role": "user", "content": f"{words} {number}."}
    record: dict[str, Any] = {
        "sessionId": LIVE,
        "cwd": "/home/ada/live",
        "version": "2.1.0",
        "gitBranch": "main",
        "isSidechain": False,
        "uuid": f"{LIVE[:24]}{number:012}",
        "parentUuid": f"{LIVE[:24]}{number - 1:012}" if number else None,
        "timestamp": stamp,
        "type": "user",
        "message": message,
    }
    return f"{json.dumps(record)}\n"


def live_log(home: Path) -> Path:
    folder = home / ".claude" / "projects" / "-home-ada-live"
    folder.mkdir(parents=True)
    log = folder / f"{LIVE}.jsonl"
    log.write_text(_line(0, "begun"))
    return log


def ours(browser: Any, store: Path, home: Path) -> tuple[Figures, Subject]:
    figures = gzipped()
    log = live_log(home)
    # The first start writes bytecode, and brings the tables of an older store up to date. After the
    # first page, the sums that are then kept are made in the background.
    with closing(Server(store, home)) as first:
        first.ask("/")
        quiet(first)
    figures |= starts(browser, store, home)
    with closing(Server(store, home)) as server:
        quiet(server)
        figures["memory when idle, MB"] = (server.megabytes, server.megabytes)
        # When nothing has changed for a while, the server wakes up less often.
        time.sleep(SETTLED_S)
        share = idle(server, IDLE_S)
        figures["processor when nobody looks, %"] = (share, share)
        over_http(server, figures)
        after_a_change(server, log, figures)
        last = last_event(server)
        address = f"/s/{LONG_UID}"
        subject = Subject(
            server.base, server.address, ".ev", address, f"{address}/e/{last}", typed_here
        )
        measure(browser, subject)
        figures |= subject.figures
        page = browser.new_page()
        page.goto(server.address)
        page.goto(f"{server.base}/s/claude:{LIVE}")
        quiet(server)
        time.sleep(SETTLED_S)
        share = idle(server, IDLE_S)
        figures["processor with one idle tab, %"] = (share, share)
        lines = [_line(number + 1, "appended") for number in range(APPENDED)]
        waited = sorted(appended_to_page(page, f"{server.base}/s/claude:{LIVE}", log, lines))
        figures["appended line to page"] = (median(waited), waited[-1])
        figures["memory at the end, MB"] = (server.megabytes, server.megabytes)
        page.close()
    return figures, subject


def starts(browser: Any, store: Path, home: Path) -> Figures:
    """What happens once for each start of a server, so several are started."""
    taken: dict[str, list[float]] = {}
    for _ in range(STARTS):
        with closing(Server(store, home)) as server:
            taken.setdefault("start to first answer, CPU", []).append(server.start_cpu_ms)
            taken.setdefault("start to first answer", []).append(server.start_ms)
            quiet(server)
            first = _first_load(browser, server)
            taken.setdefault("start page, complete, first time", []).append(first)
    return {name: (median(values), max(values)) for name, values in taken.items()}


def _first_load(browser: Any, server: Server) -> float:
    """The start page and its parts, the first time that anybody asks for them."""
    page = browser.new_page()
    began = time.perf_counter()
    page.goto(server.address)
    page.wait_for_function("() => !document.querySelector('.waits')", timeout=120_000)
    took = (time.perf_counter() - began) * 1000
    page.close()
    return took


def last_event(server: Server) -> str:
    address = f"/s/{LONG_UID}"
    parts = re.findall(rb'data-number="(\d+)"', server.ask(address)[1])
    rows = server.ask(f"{address}/rows/{max(map(int, parts))}")[1]
    return re.findall(rb'data-event="([^"]+)"', rows)[-1].decode()


def theirs(browser: Any, place: Path, sessions: int) -> Figures:
    program = peer_program(place)
    if program is None:
        say("agentsview cannot be installed: it is not measured")
        return {}
    kept = peer_store(program, place, sessions)
    with closing(Peer(program, kept)) as peer:
        subject = Subject(
            peer.base,
            f"{peer.base}/",
            ".message",
            f"/sessions/{LONG}",
            "",
            typed_in_palette,
            ".message-list-scroll",
        )
        try:
            measure(browser, subject)
        except Exception as error:  # What was measured until then counts.
            say(f"agentsview was measured in part: {type(error).__name__}: {error}")
        figures: Figures = subject.figures
        figures["memory at the end, MB"] = (peer.megabytes, peer.megabytes)
    return figures


def gzipped() -> Figures:
    found: Figures = {}
    for name, suffix in (("scripts", ".js"), ("style", ".css")):
        files = Path(web.__file__).parent.joinpath("static").glob(f"*{suffix}")
        size = sum(len(gzip.compress(file.read_bytes(), 9)) for file in files) / 1024
        found[f"{name}, gzip, KB"] = (size, size)
    return found


def budget_of(name: str, peer: Figures) -> float | None:
    if name in SHARES:
        return peer[name][0] * SHARES[name] if name in peer else None
    return BUDGETS.get(name)


def table(figures: Figures, peer: Figures) -> Iterator[str]:
    yield "| what | budget | median | slowest | | agentsview |"
    yield "|---|--:|--:|--:|---|--:|"
    for name in [*BUDGETS, *SHARES, *(one for one in figures if one not in {**BUDGETS, **SHARES})]:
        if name not in figures or name.startswith(("first time", "after another")):
            continue
        middle, slowest = figures[name]
        most = budget_of(name, peer)
        state = "" if most is None else "ok" if middle <= most else "**over**"
        other = f"{peer[name][0]:,.1f}" if name in peer else ""
        budget = "" if most is None else f"{most:,.1f}".removesuffix(".0")
        yield f"| {name} | {budget} | {middle:,.1f} | {slowest:,.1f} | {state} | {other} |"
    yield ""
    yield "| page, ms | first time | processor | after another session grew | processor |"
    yield "|---|--:|--:|--:|--:|"
    for name in figures:
        if name.startswith("first time: "):
            page = name.partition(": ")[2]
            wall, cpu = figures[name]
            again = figures.get(f"after another session grew: {page}")
            rest = f"{again[0]:,.0f} | {again[1]:,.0f}" if again else " | "
            yield f"| `{page}` | {wall:,.0f} | {cpu:,.0f} | {rest} |"


def heading(command: str, sessions: int, peer_sessions: int | None) -> Iterator[str]:
    machine = f"{os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}, {platform.machine()}"
    yield f"Made by `{command}` on {datetime.now(UTC):%Y-%m-%d} ({machine})."
    yield f"{sessions:,} sessions with subagents, and one of 100,005 events; milliseconds."
    if peer_sessions is not None:
        yield f"agentsview: {peer_sessions:,} sessions of the same kind, and the same long one."
    yield ""


def write_page(lines: list[str]) -> None:
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(before + "\n".join([BEGIN, "", *lines, "", END]) + after)


def say(what: str) -> None:
    print(f"  {what}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--keep", type=Path, metavar="DIR")
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--peer-sessions", type=int, default=PEER_SESSIONS)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--write", action="store_true", help="write the table into docs/web.md")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    chromium = next(filter(None, map(shutil.which, BROWSERS)), None)
    if chromium is None:
        sys.exit("there is no Chromium, in which pages are measured: apt-get install chromium")
    with tempfile.TemporaryDirectory() as scratch:
        place = asked.keep or Path(scratch) / "kept"
        place.mkdir(parents=True, exist_ok=True)
        kept = make_store(place, asked.sessions)
        with open_store(kept) as opened:
            say(f"{opened.sessions.count():,} sessions in {kept}")
        store = Path(scratch) / "memory.db"
        shutil.copyfile(kept, store)
        with sync_playwright() as playwright:
            browser = launched(playwright, chromium, os.geteuid() == 0)
            figures, _ = ours(browser, store, Path(scratch) / "home")
            say("\n".join(table(figures, {})))
            peer = {} if asked.no_peer else theirs(browser, place, asked.peer_sessions)
            browser.close()
    if asked.json:
        print(json.dumps({"figures": figures, "agentsview": peer}))
        return
    command = f"benchmarks/web.py --sessions {asked.sessions}"
    lines = [
        *heading(command, asked.sessions, asked.peer_sessions if peer else None),
        *table(figures, peer),
    ]
    print("\n".join(lines))
    if asked.write:
        write_page(lines)


if __name__ == "__main__":
    main()
