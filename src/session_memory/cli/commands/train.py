"""``session-memory train``."""

from session_memory.cli.kit.family import Family

command = Family(
    name="train",
    package="session_memory.cli.train",
    help="""Training data from verified attempts and successful sessions.

    In the columns that Hugging Face datasets and TRL expect; masked, without what names a project,
    without near-duplicates, and split by repository.
    """,
    members={
        "stats": "Show what an export would hold, and why the rest is left out.",
        "export": "Write the data set and its card to a new directory.",
    },
    examples=(
        ("train stats", "is there anything to learn from?"),
        ("train export --help", "how to write it"),
    ),
    json_shape="Each of the commands says its own.",
)
