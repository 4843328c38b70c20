"""Follow the agents' logs and collect what they write.

Begins with a whole sync; from then on a new line is in the store within a second. Logs may
appear, rotate and vanish, agents may be installed later. A sync or another watch may run
beside it. Ctrl-C ends it; what it missed meanwhile, the next watch or sync collects.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.reader import reader_is_gone
from session_memory.cli.kit.settings import Settings

if TYPE_CHECKING:
    from session_memory.cli.lines.analysis import AnalysisFollower
    from session_memory.cli.lines.watch_output import WatchOutput
    from session_memory.collect.stop import Stop
    from session_memory.collect.watch import Watch
    from session_memory.collect.watch_events import Happening

SHORTEST_INTERVAL = 5.0
DEFAULT_INTERVAL = 600.0


@make_command(
    resumable=True,
    examples=(
        ("watch", "follow every agent on this machine until Ctrl-C"),
        ("watch --json", "one JSON object per line, for another program"),
        ("watch --root /mnt/share/.claude --poll", "where the file system gives no events"),
        ("watch --flavor claude --quiet", "one agent, and nothing printed but errors"),
    ),
    json_shape='One object per line: {"event": "started" | "synced" | "session" | "problem" |'
    ' "error" | "stopped", "at", …}. docs/watch.md lists the fields of each.',
)
@click.option("--root", "roots", multiple=True, metavar="DIR", help="Look here only; repeatable.")
@click.option("--flavor", "flavors", multiple=True, metavar="NAME", help="Only this agent.")
@click.option("--analyze", is_flag=True, help="Analyze what was collected, once a minute.")
@click.option("--poll", is_flag=True, help="Look again and again instead of waiting for events.")
@click.option(
    "--interval",
    type=click.FloatRange(min=SHORTEST_INTERVAL),
    default=DEFAULT_INTERVAL,
    metavar="SECONDS",
    show_default=True,
    help="How often to look at everything, whatever the events said.",
)
@click.pass_obj
def command(
    settings: Settings,
    roots: tuple[str, ...],
    flavors: tuple[str, ...],
    analyze: bool,
    poll: bool,
    interval: float,
) -> None:
    from session_memory.cli.kit.progress import progress
    from session_memory.cli.lines.analysis import AnalysisFollower
    from session_memory.cli.lines.retention import retain_beside
    from session_memory.cli.lines.watch_output import watch_output
    from session_memory.collect.discover import roots as places
    from session_memory.collect.watch import Watch
    from session_memory.store import open_store

    config = settings.configuration()
    where = places(config, tuple(Path(root).expanduser() for root in roots), flavors)
    follower = AnalysisFollower(lambda: settings.opened(config)) if analyze else None
    with _stopped_by_signals() as stop, progress(settings, "Reading") as bar:
        watch = Watch(
            lambda: open_store(settings.where(config)),
            config,
            where,
            stop,
            poll=poll,
            interval=interval,
            progress=bar,
        )
        with watch_output(settings, bar) as tell:
            _follow(watch, tell, stop, follower, partial(retain_beside, settings, config))


def _follow(
    watch: "Watch",
    tell: "WatchOutput",
    stop: "Stop",
    follower: "AnalysisFollower | None" = None,
    also: "Callable[[Happening], None]" = lambda happening: None,
) -> None:
    with closing(watch.run()) as happenings:
        for happening in happenings:
            tell.about(happening)
            also(happening)
            if follower is not None and (trouble := follower.hears(happening)) is not None:
                tell.about(trouble)
            if reader_is_gone():
                stop.set()


@contextmanager
def _stopped_by_signals() -> "Iterator[Stop]":
    """The first signal ends the watch after what it is at; a second one interrupts that, too."""
    from session_memory.collect.stop import Stop

    stop = Stop()

    def ask(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, ask) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        stop.close()
