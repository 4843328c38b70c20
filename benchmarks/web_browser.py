"""What a person waits for, measured in Chromium: paint, requests, search, scrolling, memory.

The same code measures our page and agentsview's. What differs is in `Subject`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

BROWSERS = ("chromium", "google-chrome", "chromium-headless-shell")
LOADS = 5
STEPS = 240
# Types a word and waits for its hits; returns milliseconds from the last key.
Typing = Callable[[Any, str], float]
WORDS = ("import", "repair", "billing", "invoice", "cache", "parser", "login", "export")

# In every page: when the first event of a transcript was there, and every long task.
_WATCHING = """(() => {
  window.longTasks = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.longTasks.push(entry.duration);
  }).observe({ type: "longtask", buffered: true });
  const look = () => {
    if (document.querySelector("ROW")) window.firstRow = performance.now();
    else requestAnimationFrame(look);
  };
  look();
})()"""
_LOADED = """() => {
  const all = performance.getEntriesByType("resource");
  const page = performance.getEntriesByType("navigation")[0];
  return {
    requests: all.length + 1,
    complete: Math.max(page.responseEnd, ...all.map((one) => one.responseEnd)),
    paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
  };
}"""
_SCROLL = """async ([scroller, steps]) => {
  const found = scroller ? document.querySelector(scroller) : document.scrollingElement;
  const frames = [];
  window.longTasks.length = 0;
  let most = 0, before = performance.now();
  for (let step = 0; step < steps; step++) {
    found.scrollTop += 400;
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    frames.push(now - before);
    before = now;
    if (step % 20 === 0) most = Math.max(most, document.querySelectorAll("*").length);
  }
  return { frames: frames.sort((a, b) => a - b), most, tasks: window.longTasks };
}"""


@dataclass
class Subject:
    """A page to measure. ``first`` is opened before, ``scroller`` scrolls the transcript."""

    base: str
    first: str
    row: str
    long: str
    deep: str
    typing: Typing
    scroller: str = ""
    figures: dict[str, tuple[float, float]] = field(default_factory=dict)

    def note(self, name: str, times: list[float]) -> None:
        self.figures[name] = (median(times), max(times))


def launched(playwright: Any, path: str, as_root: bool) -> Any:
    arguments = ["--no-sandbox"] if as_root else []
    return playwright.chromium.launch(executable_path=path, args=arguments)


def measure(browser: Any, subject: Subject) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script(_WATCHING.replace("ROW", subject.row))
    page = context.new_page()
    page.goto(subject.first)
    _start_page(page, subject)
    typed = sorted(subject.typing(page, word) for word in WORDS)
    subject.figures["search, key to hits"] = (median(typed), typed[-1])
    _long_session(page, subject)
    context.close()


def _start_page(page: Any, subject: Subject) -> None:
    loads = []
    for _ in range(LOADS):
        page.goto(f"{subject.base}/")
        settle(page)
        loads.append(page.evaluate(_LOADED))
    subject.note("start page, first contentful paint", [one["paint"] for one in loads])
    subject.note("start page, complete", [one["complete"] for one in loads])
    subject.note("start page, requests", [one["requests"] for one in loads])


def settle(page: Any, seconds: float = 60) -> None:
    """Wait until the page asked for nothing new in a second. Some pages never stop for good."""
    count, until = -1, time.monotonic() + seconds
    while time.monotonic() < until:
        page.wait_for_timeout(1000)
        now = page.evaluate("performance.getEntriesByType('resource').length")
        if now == count:
            return
        count = now


def _opened(page: Any, address: str) -> float:
    page.goto("about:blank")
    page.goto(address, wait_until="commit")
    page.wait_for_function("() => window.firstRow", timeout=120_000)
    return float(page.evaluate("window.firstRow"))


def _long_session(page: Any, subject: Subject) -> None:
    address = subject.base + subject.long
    subject.note("long session, first event", [_opened(page, address) for _ in range(LOADS)])
    if subject.deep:
        deep = subject.base + subject.deep
        subject.note("long session, deep link", [_opened(page, deep) for _ in range(LOADS)])
    _opened(page, address)
    page.wait_for_timeout(3000)
    found = page.evaluate(_SCROLL, [subject.scroller, STEPS])
    frames, tasks = found["frames"], found["tasks"] or [0]
    subject.figures["scrolling, frame p50"] = (frames[len(frames) // 2], frames[-1])
    subject.figures["scrolling, frame p95"] = (frames[int(len(frames) * 0.95)], frames[-1])
    subject.figures["scrolling, longest task"] = (max(tasks), sum(tasks))
    subject.figures["long session, nodes"] = (found["most"], found["most"])
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    heap = session.send("Runtime.getHeapUsage")["usedSize"] / 1e6
    subject.figures["long session, heap, MB"] = (heap, heap)


def typed_here(page: Any, word: str) -> float:
    """Type into the search field of our list."""
    base = page.url.partition("/")[2].strip("/").partition("/")[0]
    page.goto(f"http://{base}/sessions")
    page.focus(".find input")
    page.keyboard.type(word[:-1])
    page.wait_for_timeout(800)
    page.evaluate(
        "window.waited = new Promise(done => document.addEventListener('swapped',"
        " () => done(performance.now()), {once: true}));"
        "document.querySelector('.find input').addEventListener('input',"
        " () => window.began = performance.now(), {once: true})"
    )
    page.keyboard.type(word[-1])
    return float(page.evaluate("window.waited.then(end => end - window.began)"))


def typed_in_palette(page: Any, word: str) -> float:
    """Type into the palette of agentsview. Its answer is drawn in the next frame."""
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.wait_for_selector("input.palette-input")
    page.fill("input.palette-input", "")
    page.keyboard.type(word[:-1])
    page.wait_for_timeout(2000)
    began = time.perf_counter()
    with page.expect_response(lambda answer: f"/api/v1/search?q={word}&" in answer.url) as found:
        page.keyboard.type(word[-1])
    found.value.finished()
    page.evaluate("new Promise(requestAnimationFrame)")
    return (time.perf_counter() - began) * 1000


def appended_to_page(page: Any, address: str, log: Path, lines: list[str]) -> list[float]:
    """Milliseconds from the end of a write to the log until the event is in the open page."""
    page.goto(address)
    page.wait_for_selector(".ev")
    page.wait_for_timeout(2000)
    waited = []
    for number, line in enumerate(lines):
        with log.open("a") as file:
            file.write(line)
        began = time.perf_counter()
        page.wait_for_function(
            "(text) => document.body.innerText.includes(text)",
            arg=f"appended {number + 1}.",
            timeout=30_000,
        )
        waited.append((time.perf_counter() - began) * 1000)
        page.wait_for_timeout(400)
    return waited
