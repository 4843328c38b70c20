"""``session-memory lake``."""

from session_memory.cli.kit.family import Family

command = Family(
    name="lake",
    package="session_memory.cli.lake",
    help="""Write sessions, events and usage as Parquet files.

    For questions over all of them, with session-memory sql or any engine that reads Parquet in
    hive partitions: DuckDB, Spark, Polars. What is exported stays when a session is evicted.
    """,
    members={"export": "Bring the files up to date with the store."},
    examples=(
        ("lake export", "write what is new"),
        ("lake export --json", "how much was written"),
    ),
    json_shape="Each of the commands says its own.",
)
