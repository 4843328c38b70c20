"""``session-memory archive``."""

from session_memory.cli.kit.family import Family

command = Family(
    name="archive",
    package="session_memory.cli.archive",
    help="""Look at the archive of evicted raw.

    Files in the directory archive/ beside the store, or where [retention] archive_dir says. Each
    is a plain tar with a manifest, and holds packs as they were in the store.
    """,
    members={
        "list": "List the files, and what each holds.",
        "verify": "Read every file back and compare it with its hashes.",
    },
    examples=(
        ("archive list", "which file holds what"),
        ("archive verify", "is everything still as it was written?"),
    ),
    json_shape="Each of the commands says its own.",
)
