"""The program ``session-memory``.

Agents start the MCP server in every session, and most of them never ask it anything. They start a
hook for every failed command, the status line after every message, and wait for both. So these
start without the command line, which takes longer to load than the server needs for its first
answers.
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
