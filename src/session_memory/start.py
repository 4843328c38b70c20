"""Start the program ``session-memory``.

Three commands start without importing the command line, because agents start them all the time and
wait for them: ``mcp`` (the MCP server, in every session), ``hook`` (after failed commands) and
``statusline`` (after every message). Importing the command line takes longer than the first answers
of the MCP server.
"""

import sys


def main() -> None:
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

    program()
