"""The commands. A directory is a heading of ``--help``, a file is a command.

A directory inside a heading is a group: ``admin/store/verify.py`` is ``session-memory store
verify``. The first line of a file is the command's line in the listing, and its docstring is the
command's help. So a new command needs one file. Listing the commands reads the first lines and
imports nothing.
"""

# The headings of --help, in this order. Each is a directory here.
HEADINGS = ("look", "find", "cost", "learn", "keep", "live", "admin")

# The commands that --help lists first.
DAILY = (
    "sync",
    "sessions",
    "show",
    "search",
    "fix",
    "cost",
    "stats",
    "retro",
    "open",
    "doctor",
)

# Short names that --help mentions beside the command.
SHORT_NAMES = {"sessions": "ls"}

# Names that work but have no line in --help: earlier names, and what people type out of habit.
OLD_NAMES = {
    "apply": "lessons apply",
    "backup": "store backup",
    "compact": "store compact",
    "copy-store": "store copy",
    "fingerprint": "store fingerprint",
    "import-live": "live import",
    "list": "sessions",
    "ls": "sessions",
    "measure": "lessons measure",
    "propose": "lessons propose",
    "rebuild": "store rebuild",
    "reindex": "store reindex",
    "revert": "lessons revert",
    "skill-log": "skill",
    "skills": "skill stats",
    "sql": "lake sql",
    "verify": "store verify",
}
