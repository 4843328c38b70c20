"""``session-memory skill-log``."""

from session_memory.cli.kit.family import Family

command = Family(
    name="skill-log",
    package="session_memory.cli.skill_log",
    help="""Write and read the log of skill calls.

    For shells and other languages. A log is one file for each session, below
    ~/.session-memory/skills unless the configuration or --dir says otherwise. session-memory sync
    brings it into the store, session-memory skills tells what comes of it.
    """,
    members={
        "append": "Add one entry, read from standard input.",
        "read": "Print the entries of a session.",
        "sessions": "List the sessions that have a log.",
    },
    examples=(
        ("skill-log append < entry.json", "add one call of a skill"),
        ("skill-log read nightly-7", "what a session has called"),
        ("skill-log sessions", "which sessions have a log"),
    ),
    json_shape="Each of the commands says its own.",
)
