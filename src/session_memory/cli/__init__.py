"""The command line ``session-memory``.

Each command is a file below ``cli/commands``, imported only when the command is called. A command
parses its options, gets the answer from a view or from ``Memory``, and prints the answer.
"""

from session_memory.cli.kit.program import MainGroup

main = MainGroup(
    name="session-memory",
    help="Collect the sessions of coding agents: read, search, price and learn from them.",
    examples=(
        ("sync", "collect what is new"),
        ("sessions --since 7d", "what was done this week"),
        ("search webhook signature", "where was that?"),
        ("show 5b0c6a1e", "a session, by the start of its id"),
        ("doctor", "is anything about to be lost?"),
    ),
)
