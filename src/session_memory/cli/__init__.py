"""The command line ``session-memory``: parse, ask a view, show the answer.

Every command is a file of its own and imported when it is called: ``--help`` loads none of them.
"""

from session_memory.cli.kit.group import Commands

SECTIONS = {
    "Collect": {
        "sync": "Collect what is new in the agents' logs.",
        "watch": "Follow the agents' logs and collect what they write.",
        "skill-log": "Write and read the log of skill calls.",
        "demo": "Collect invented sessions and show what comes of them.",
    },
    "Look": {
        "sessions": "List sessions, newest first.",
        "search": "Find sessions by what was said, called and printed.",
        "similar": "Find sessions like this one, or like a text.",
        "show": "Show one session: events, subagents, branches.",
        "timeline": "Show when what happened in a session, and how long it took.",
        "tree": "Show the family of a session, with the cost of every member.",
        "diff": "Show what a session changed, file by file.",
        "files": "List the files that sessions read, edited and wrote.",
        "commands": "List the shell commands that sessions ran, and how each ended.",
        "open": "Go on with a session in its own agent.",
        "live": "Look at the sessions of agent runtimes, and move them.",
        "stats": "Show how the work goes: activity, tools, tests, models.",
        "cost": "Show what was spent, to the micro-dollar.",
        "budget": "Show what is left of a limit for the day or the month.",
        "statusline": "Print one line for an agent's status bar.",
        "skills": "Show how often skills pass, and which model to use.",
        "sources": "List the native files and what became of their lines.",
        "secrets": "List where secrets are, never what they are.",
        "problems": "List what could not be read, with file and byte.",
        "doctor": "Check logs, store, permissions and disk.",
    },
    "Learn": {
        "analyze": "Work out what sessions come down to.",
        "digest": "Show what one session comes down to.",
        "patterns": "Show what goes wrong again and again.",
        "retro": "Look back: what was done, what it cost, what went wrong.",
        "lessons": "Keep what was learned: accept, reject, edit, merge.",
        "propose": "Show lessons as a diff of CLAUDE.md, AGENTS.md or GROK.md.",
        "apply": "Write lessons to CLAUDE.md, AGENTS.md or GROK.md.",
        "revert": "Undo the last apply, to the byte.",
        "measure": "Say whether lessons helped.",
        "fix": "Find how an error was resolved before.",
        "how": "Find sessions that did a task, with what mattered.",
        "train": "Training data from verified attempts and successful sessions.",
    },
    "Look after the store": {
        "retain": "Keep the store within its bounds.",
        "pin": "Keep sessions in the store, whatever their age.",
        "unpin": "Let pinned sessions go when their time comes.",
        "restore": "Bring evicted sessions back from the archive.",
        "archive": "Look at the archive of evicted raw.",
        "forget": "Remove sessions from everything of ours, with proof.",
        "lake": "Write sessions, events and usage as Parquet files.",
        "sql": "Ask the lake in SQL.",
        "verify": "Read everything back and compare it with its hashes.",
        "fingerprint": "Print one hash of everything collected.",
        "rebuild": "Derive all events anew from the raw.",
        "reindex": "Build the index of words anew.",
        "restore-native": "Write native logs back, byte for byte.",
        "backup": "Copy the store to a new file while it is in use.",
        "copy-store": "Copy a store into an empty one, and prove it.",
        "compact": "Give unused space back to the disk.",
        "export": "Write sessions to a file: portable, Markdown, HTML or JSONL.",
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
        ("search webhook signature", "where was that?"),
        ("show 5b0c6a1e", "one session, by the beginning of its id"),
        ("doctor", "is anything about to be lost?"),
    ),
)
