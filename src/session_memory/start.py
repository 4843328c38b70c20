"""The program ``session-memory``.

Agents start the MCP server in every session, and most of them never ask it anything. So it starts
without the command line, which takes longer to load than the server needs for its first answers.
"""

import sys


def main() -> None:
    if sys.argv[1:] == ["mcp"]:
        from session_memory.mcp.serving import serve

        sys.exit(serve())
    from session_memory.cli import main as program

    program()
