"""The program ``session-memory``.

Agents start the MCP server in every session, and most of them never ask it anything. They start a
hook for every failed command and wait for it. So both start without the command line, which takes
longer to load than the server needs for its first answers.
"""

import sys


def main() -> None:
    if sys.argv[1:] == ["mcp"]:
        from session_memory.mcp.serving import serve

        sys.exit(serve())
    if sys.argv[1:2] == ["hook"] and not {"--help", "-h"} & {*sys.argv[2:]}:
        from session_memory.hooks.running import run

        sys.exit(run(sys.argv[2:]))
    from session_memory.cli import main as program

    program()
