"""Follow the agents' logs and collect new lines within a second.

Starts with a full sync. Logs may appear, rotate and vanish, and agents may be installed later. A
sync or another watch can run at the same time. Ctrl-C ends it; the next watch or sync collects what
was written meanwhile. --analyze also analyzes new sessions and those not analyzed yet. --web also
serves the web page. If retention is turned on, the watch evicts old sessions once a day: it moves
their logs to the archive.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.log_options import log_options
from session_memory.cli.kit.output import remark
from session_memory.cli.kit.reader import reader_is_gone
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.web_page import running_server

if TYPE_CHECKING:
    from session_memory.memory.follow import Follow
    from session_memory.store import Store

SHORTEST_INTERVAL = 5.0
DEFAULT_INTERVAL = 600.0
SHORTEST_PAUSE = 0.1
DEFAULT_PAUSE = 60.0
SECONDS_TO_END = 5


@make_command(
    resumable=True,
    examples=(
        ("watch", "follow all agents until Ctrl-C"),
        ("watch --json", "one JSON object per line, for another program"),
        ("watch --root /mnt/share/.claude --poll", "on a file system without change events"),
        ("watch --flavor claude --quiet", "one agent, print only errors"),
        ("watch --analyze --retro ~/notes", "analyze too, and write a retrospective every week"),
        ("watch --web", "serve the web page too; session-memory web opens it"),
    ),
    json_shape='One object per line: {"event": "started" | "synced" | "session" | "problem" |'
    ' "analyzed" | "retained" | "retro" | "error" | "stopped", "at", …}. docs/watch.md lists the'
    " fields of each.",
)
@log_options
@click.option(
    "--analyze",
    is_flag=True,
    help="Analyze sessions: first those not analyzed yet, then new ones.",
)
@click.option(
    "--analyze-every",
    type=click.FloatRange(min=SHORTEST_PAUSE),
    default=DEFAULT_PAUSE,
    metavar="SECONDS",
    show_default=True,
    help="Analyze growing sessions at most once in this many seconds.",
)
@click.option(
    "--retro",
    "retros",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write the retrospective of each week to this directory; includes --analyze.",
)
@click.option(
    "--web", "serves", is_flag=True, help="Serve the web page too; session-memory web opens it."
)
@click.option(
    "--poll",
    is_flag=True,
    help="Check all files once a second, or less often if a check takes long, instead of"
    " waiting for file events.",
)
@click.option(
    "--interval",
    type=click.FloatRange(min=SHORTEST_INTERVAL),
    default=DEFAULT_INTERVAL,
    metavar="SECONDS",
    show_default=True,
    help="How often to check all files even without file events; not for --poll.",
)
@click.pass_obj
def command(
    settings: Settings,
    roots: tuple[str, ...],
    flavors: tuple[str, ...],
    analyze: bool,
    analyze_every: float,
    retros: Path | None,
    serves: bool,
    poll: bool,
    interval: float,
) -> None:
    from session_memory.cli.kit.progress import progress
    from session_memory.cli.lines.watch_output import watch_output
    from session_memory.memory import Memory
    from session_memory.memory.upkeep import Upkeep

    _refuse_pause(analyzes=analyze or retros is not None)
    config = settings.configuration()
    where = settings.where(config)
    with (
        settings.memory(config, create=True) as memory,
        progress(settings, "Reading") as bar,
        memory.follow(
            roots, flavors=flavors, poll=poll, interval=interval, idle=True, progress=bar
        ) as follow,
        _stopped_by_signals(follow),
        _page_served(settings, memory.store, where) if serves else nullcontext(),
        watch_output(settings, bar) as output,
    ):
        upkeep = Upkeep(
            # The configuration is read again each time: limits may be set while the watch runs.
            lambda: Memory(where, settings.config, create=False),
            analyze=analyze,
            retros=retros,
            every_s=analyze_every,
            is_stopping=lambda: follow.is_stopping,
        )
        for happening in follow:
            output.about(happening)
            for done in upkeep.after(happening):
                output.about(done)
            if reader_is_gone():
                follow.stop()


def _refuse_pause(*, analyzes: bool) -> None:
    source = click.get_current_context().get_parameter_source("analyze_every")
    if source is click.core.ParameterSource.COMMANDLINE and not analyzes:
        raise click.UsageError("--analyze-every needs --analyze")


@contextmanager
def _page_served(settings: Settings, store: "Store", where: str) -> "Iterator[None]":
    """Serve the web page in a thread. Its address has the token, so it is not printed."""
    from session_memory.memory import Memory
    from session_memory.web.running import mark_of
    from session_memory.web.serving import WebServer

    remark(settings, "Open the web page: session-memory web")
    if running_server(store) is not None:
        # Another process serves the page of this store.
        yield
        return
    server = WebServer(
        lambda: Memory(where, settings.config, create=False), place=mark_of(store), is_live=True
    )
    thread = threading.Thread(target=server.run, name="web", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.stop()
        thread.join(SECONDS_TO_END)


@contextmanager
def _stopped_by_signals(follow: "Follow") -> "Iterator[None]":
    """The first signal ends the watch after the present step; a second one interrupts the step.

    A signal that is ignored stays ignored: ``nohup`` and shells ask for that when they start a
    program in the background.
    """

    def ask(number: int, frame: object) -> None:
        if follow.is_stopping:
            raise KeyboardInterrupt
        follow.stop()

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    heeded = [n for n in numbers if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, ask) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
