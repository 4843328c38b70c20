"""Start the program ``session-memory``, and end it quickly.

Three commands start without importing the command line, because agents start them all the time and
wait for them: ``mcp`` (the MCP server, in every session), ``hook`` (after failed commands) and
``statusline`` (after every message). Importing the command line takes longer than the first answers
of the MCP server.
"""

import gc
import os
import sys

# Loading a command makes some ten thousand objects that stay. By default the collector would look
# for garbage among them a hundred times.
COLLECT_AFTER = 50_000


def main() -> None:
    gc.set_threshold(COLLECT_AFTER, *gc.get_threshold()[1:])
    _open_closed_streams()
    try:
        _run()
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            raise
        _end(end.code or 0)
    except KeyboardInterrupt:
        # Ctrl-C came before the command line was imported, which reports it from then on.
        print("error: interrupted", file=sys.stderr)
        _end(130)


def _open_closed_streams() -> None:
    """Put the null device in the place of standard streams that the caller closed.

    Python has None for them, which cannot be written to. Besides, no file that is opened later,
    such as the store, gets the number of a standard stream.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123


def _run() -> None:
    with_store = len(sys.argv) == 4 and sys.argv[2] == "--store"
    given = sys.argv[3] if with_store else None
    if sys.argv[1:2] == ["mcp"] and (with_store or len(sys.argv) == 2):
        from session_memory.mcp.serving import serve

        sys.exit(serve(given))
    if sys.argv[1:2] == ["hook"] and not {"--help", "-h"} & {*sys.argv[2:]}:
        from session_memory.hooks.running import run

        sys.exit(run(sys.argv[2:]))
    if sys.argv[1:2] == ["statusline"] and (with_store or len(sys.argv) == 2):
        from session_memory.hooks.status_bar import run as print_line

        sys.exit(print_line(given))
    from session_memory.cli import main as program

    program(prog_name="session-memory")


def _end(status: int) -> None:
    """End the process. Python would first free every object, which takes 10 to 20 ms.

    A process with more threads, or whose output nobody takes, ends as usual.
    """
    import atexit

    threads = sys.modules.get("threading")
    if (threads is not None and threads.active_count() > 1) or sys.flags.inspect:
        sys.exit(status)
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        sys.exit(status)
    os._exit(status & 0xFF)
