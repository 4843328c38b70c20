"""``session-memory lessons``."""

from session_memory.cli.kit.family import Family

command = Family(
    name="lessons",
    package="session_memory.cli.lessons",
    help="""Keep what was learned: accept, reject, edit, merge.

    A lesson is a pattern that a person accepted, with what to do about it: a Markdown file in a
    folder that you may commit. Every change is a new version, every decision is kept. propose
    shows lessons for CLAUDE.md, AGENTS.md or GROK.md, apply writes them, measure says if it helped.
    """,
    members={
        "list": "List the lessons.",
        "show": "Show one lesson, with its history.",
        "accept": "Make a lesson of a pattern.",
        "reject": "Say no to a pattern or a lesson.",
        "edit": "Change the words or the scope of a lesson.",
        "merge": "Let one lesson speak for others.",
        "live": "List which files hold which lessons.",
    },
    examples=(
        ("lessons list", "what was decided so far"),
        ("lessons accept p-0c88102dbf64", "make a lesson of a pattern"),
        ("lessons edit l-0c88102dbf64", "put it into your words"),
        ("lessons live", "which file holds which lesson"),
    ),
    json_shape="Each of the commands says its own.",
)
