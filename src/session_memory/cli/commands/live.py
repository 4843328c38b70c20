"""``session-memory live``."""

from session_memory.cli.kit.family import Family

command = Family(
    name="live",
    package="session_memory.cli.live",
    help="""Look at the sessions of agent runtimes, and move them.

    Every command takes the id of a session, or a beginning of it that only one has. Nothing is
    ever deleted: what a rewind leaves behind and what a compaction folds is still there, and undo
    brings it back.
    """,
    members={
        "list": "List live sessions, newest first.",
        "show": "Show one: its messages, folds and open calls.",
        "tail": "Print the last messages, and those to come.",
        "rewind": "Move a session back to a message.",
        "fork": "Start a session that shares another's past.",
        "compact": "Fold the older messages behind a note.",
        "repair": "Answer calls that were interrupted.",
        "undo": "Take back the last rewind, clear or compaction.",
        "export": "Write the messages as JSON lines.",
    },
    examples=(
        ("live list", "which sessions there are"),
        ("live show sess_4f1c", "one of them, by the beginning of its id"),
        ("live tail sess_4f1c", "follow it while an agent is at work"),
    ),
    json_shape="Each of the commands says its own.",
)
