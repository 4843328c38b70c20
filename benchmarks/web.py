"""The web page over a large store: first bytes, first paint, search, scrolling, memory.

    python benchmarks/web.py                     makes a store in a temporary directory
    python benchmarks/web.py --keep DIR          makes it in DIR, or uses the one that is there
    python benchmarks/web.py --sessions 20000    a smaller one
    python benchmarks/web.py --json

The store holds invented Claude Code logs and one session of 100,005 events. The server is started
as a person starts it. Pages are asked over HTTP, and then opened in Chromium. The median and the
slowest of several times are printed next to the budget. Times depend on the machine: compare them
within one run.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from listing import write_logs

from session_memory import open_store
from session_memory.testing.claude import ClaudeHome, call, text
from session_memory.testing.collecting import collect

SESSIONS = 100_000
LONG = "cccccccc"
ROUNDS = 33_335
TIMES = 7
# Milliseconds, except where the name says otherwise.
BUDGETS = {
    "start to first answer, CPU": 350,
    "memory when idle, MB": 60,
    "memory after 100 pages, MB": 150,
    "any page, first byte, warm": 50,
    "sessions, first rows": 150,
    "search, one word": 120,
    "long session, first event": 300,
    "long session, deep link": 400,
    "first contentful paint": 500,
    "key to hits": 120,
    "frame while scrolling, p95": 100,
    "nodes in a long session": 6000,
    "heap in a long session, MB": 25,
    "scripts and style, gzip, KB": 23,
}


def make_store(place: Path, sessions: int) -> Path:
    """The store below ``place``; it is made once."""
    store = place / f"web-{sessions}.db"
    if store.exists():
        return store
    home = place / "home"
    write_logs(home, sessions)
    long = ClaudeHome(place / "long")
    log = long.session(LONG, slug="long")
    for number in range(ROUNDS):
        if number % 40 == 0:
            log.prompt(f"question {number}")
        log.answer(text(f"answer {number}"), call("Bash", f"c{number}", command=f"echo {number}"))
        log.result(f"output {number}", is_error=number % 50 == 0)
    long.write()
    partial = place / "making.db"
    with open_store(partial, durability="normal") as opened:
        collect(opened, home)
        collect(opened, long.path)
    partial.rename(store)
    shutil.rmtree(home)
    shutil.rmtree(place / "long")
    return store


class Server:
    """The program, started as a person starts it."""

    def __init__(self, store: Path, home: Path) -> None:
        environment = {**os.environ, "HOME": str(home), "SESSION_MEMORY_STORE": str(store)}
        self._process = subprocess.Popen(
            [*_program(), "web", "--no-open", "--no-watch", "--json"],
            stdout=subprocess.PIPE,
            env=environment,
        )
        assert self._process.stdout is not None
        found = json.loads(self._process.stdout.readline())
        self.address, self.port = found["address"], found["port"]
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        self.ask(f"/?{self.address.partition('?')[2]}")
        self.cpu_at_start = self._cpu()

    def ask(self, path: str, part: str = "") -> tuple[float, bytes]:
        """Milliseconds until the whole answer, and the answer."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}")
        if part:
            request.add_header("X-Part", part)
        began = time.perf_counter()
        with self._opener.open(request, timeout=60) as answer:
            body = answer.read()
        return (time.perf_counter() - began) * 1000, body

    def _cpu(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")

    @property
    def megabytes(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        return int(found[1]) / 1024 if found else 0.0

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)


def _program() -> list[str]:
    return [sys.executable, "-m", "session_memory"]


def times(ask: Callable[[], float], number: int = TIMES) -> tuple[float, float]:
    found = [ask() for _ in range(number)]
    return median(found), max(found)


def over_http(server: Server) -> Iterator[tuple[str, float, float]]:
    yield "start to first answer, CPU", server.cpu_at_start, server.cpu_at_start
    yield "memory when idle, MB", server.megabytes, server.megabytes
    pages = ["/", "/sessions", "/cost", "/work", "/learn", "/keep", "/settings", f"/s/{LONG}"]
    cold = ", ".join(f"{path} {server.ask(path)[0]:.0f}" for path in pages)
    print(f"  asked for the first time: {cold}", file=sys.stderr)
    slowest = {path: times(lambda path=path: server.ask(path)[0], 5) for path in pages}
    worst = max(slowest, key=lambda path: slowest[path][0])
    yield f"any page, first byte, warm ({worst})", *slowest[worst]
    yield "sessions, first rows", *times(lambda: server.ask("/sessions")[0])
    yield "search, one word", *times(lambda: server.ask("/sessions?q=import", "results")[0])
    yield "long session, first event", *times(lambda: server.ask(f"/s/{LONG}")[0])
    last = _last_event(server)
    yield "long session, deep link", *times(lambda: server.ask(f"/s/{LONG}/e/{last}")[0])
    for _ in range(100 // len(pages)):
        for path in pages:
            server.ask(path)
    yield "memory after 100 pages, MB", server.megabytes, server.megabytes


def _last_event(server: Server) -> str:
    parts = re.findall(rb'data-number="(\d+)"', server.ask(f"/s/{LONG}")[1])
    rows = server.ask(f"/s/{LONG}/rows/{max(map(int, parts))}")[1]
    return re.findall(rb'data-event="([^"]+)"', rows)[-1].decode()


def in_browser(server: Server) -> Iterator[tuple[str, float, float]]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        print("no Chromium: the page was not opened", file=sys.stderr)
        return
    base = f"http://127.0.0.1:{server.port}"
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(server.address)
        paints = []
        for _ in range(5):
            page.goto(f"{base}/sessions")
            entry = "performance.getEntriesByName('first-contentful-paint')[0]"
            page.wait_for_function(f"() => {entry}")
            paints.append(page.evaluate(f"{entry}.startTime"))
        yield "first contentful paint", median(paints), max(paints)
        yield "key to hits", *_typed(page)
        page.goto(f"{base}/s/{LONG}")
        page.wait_for_selector(".turn")
        frames = page.evaluate(_SCROLL)
        frames.sort()
        yield "frame while scrolling, p95", frames[int(len(frames) * 0.95)], frames[-1]
        nodes = page.evaluate("document.querySelectorAll('*').length")
        yield "nodes in a long session", nodes, nodes
        session = page.context.new_cdp_session(page)
        session.send("HeapProfiler.collectGarbage")
        heap = session.send("Runtime.getHeapUsage")["usedSize"] / 1e6
        yield "heap in a long session, MB", heap, heap
        browser.close()


_SCROLL = """async () => {
  const frames = [];
  let before = performance.now();
  for (let step = 0; step < 240; step++) {
    scrollBy(0, 400);
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    frames.push(now - before);
    before = now;
  }
  return frames;
}"""


def _typed(page: Any) -> tuple[float, float]:
    found = []
    for word in ("import", "repair", "billing", "mobile", "search"):
        page.goto(page.url.partition("?")[0])
        page.focus(".find input")
        page.keyboard.type(word[:-1])
        page.wait_for_timeout(600)
        page.evaluate(
            "window.waited = new Promise(done => document.addEventListener('swapped',"
            " () => done(performance.now()), {once: true})); window.began = performance.now()"
        )
        page.keyboard.type(word[-1])
        found.append(page.evaluate("window.waited.then(end => end - window.began)"))
    return median(found), max(found)


def gzipped() -> float:
    import gzip  # noqa: PLC0415

    import session_memory.web as web  # noqa: PLC0415

    files = Path(web.__file__).parent.joinpath("static").iterdir()
    return sum(len(gzip.compress(file.read_bytes(), 9)) for file in files) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--keep", type=Path, metavar="DIR")
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = asked.keep or Path(scratch)
        place.mkdir(parents=True, exist_ok=True)
        store = make_store(place, asked.sessions)
        server = Server(store, Path(scratch))
        try:
            size = gzipped()
            rows = [("scripts and style, gzip, KB", size, size)]
            rows += [*over_http(server), *in_browser(server)]
        finally:
            server.close()
    if asked.json:
        print(json.dumps({name: {"median": mid, "slowest": high} for name, mid, high in rows}))
        return
    for name, mid, high in rows:
        budget = BUDGETS[name.partition(" (")[0]]
        state = "ok" if mid <= budget else "OVER"
        print(f"{name:<48}{mid:9.1f}{high:10.1f}   budget {budget:>6}  {state}")


if __name__ == "__main__":
    main()
