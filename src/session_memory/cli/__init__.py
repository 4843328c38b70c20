"""The command line ``session-memory``: parse, ask a view, show the answer.

Every command is a file of its own and imported when it is called: ``--help`` loads none of them.
"""

from session_memory.cli.group import Commands

SECTIONS = {
    "Collect": {
        "sync": "Collect what is new in the agents' logs.",
        "watch": "Follow the agents' logs and collect what they write.",
        "skill-log": "Write and read the log of skill calls.",
        "demo": "Collect invented sessions and show what comes of them.",
    },
    "Look": {
        "sessions": "List sessions, newest first.",
        "show": "Show one session: events, subagents, branches.",
        "live": "Look at the sessions of agent runtimes, and move them.",
        "skills": "Show how often skills pass, and which model to use.",
        "sources": "List the native files and what became of their lines.",
        "problems": "List what could not be read, with file and byte.",
        "doctor": "Check logs, store, permissions and disk.",
    },
    "Look after the store": {
        "verify": "Read everything back and compare it with its hashes.",
        "fingerprint": "Print one hash of everything collected.",
        "rebuild": "Derive all events anew from the raw.",
        "restore-native": "Write native logs back, byte for byte.",
        "backup": "Copy the store to a new file while it is in use.",
        "copy-store": "Copy a store into an empty one, and prove it.",
        "compact": "Give unused space back to the disk.",
        "export": "Write sessions to one portable file.",
        "import": "Take in sessions from a portable file.",
        "import-live": "Turn a mycode or power-loop session into a live one.",
    },
    "Set up": {
        "service": "Keep a watch running in the background.",
        "config": "Show the settings in effect.",
        "completion": "Print the completion script of a shell.",
        "version": "Print the version.",
    },
}

main = Commands(
    name="session-memory",
    sections=SECTIONS,
    help="Keeps every coding-agent session: whole, small and counted once.",
    examples=(
        ("sync", "collect what is new"),
        ("sessions --since 7d", "what was done this week"),
        ("show 5b0c6a1e", "one session, by the beginning of its id"),
        ("doctor", "is anything about to be lost?"),
    ),
)
