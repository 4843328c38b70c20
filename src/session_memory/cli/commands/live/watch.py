"""Follow the agents' logs and collect what they write.

Begins with a whole sync; from then on a new line is in the store within a second. Logs may
appear, rotate and vanish, agents may be installed later. A sync or another watch may run
beside it. Ctrl-C ends it; what it missed meanwhile, the next watch or sync collects.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.reader import reader_is_gone
from session_memory.cli.kit.settings import Settings

if TYPE_CHECKING:
    from session_memory.memory.follow import Follow

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

    config = settings.configuration()
    follower = AnalysisFollower(lambda: settings.memory(config)) if analyze else None
    with (
        settings.memory(config, create=True) as memory,
        progress(settings, "Reading") as bar,
        memory.follow(
            roots, flavors=flavors, poll=poll, interval=interval, idle=True, progress=bar
        ) as follow,
        _stopped_by_signals(follow),
        watch_output(settings, bar) as output,
    ):
        for happening in follow:
            output.about(happening)
            retain_beside(settings, config, happening)
            if follower is not None and (trouble := follower.hears(happening)) is not None:
                output.about(trouble)
            if reader_is_gone():
                follow.stop()


@contextmanager
def _stopped_by_signals(follow: "Follow") -> "Iterator[None]":
    """The first signal ends the watch after its present step; a second one interrupts the step."""

    def ask(number: int, frame: object) -> None:
        if follow.is_stopping:
            raise KeyboardInterrupt
        follow.stop()

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, ask) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
