"""aider: one Markdown file in each repository, which all sessions there append to.

Evidence: docs/formats/aider.md.
"""

from session_memory.adapters.agent import Agent, lazy

_HERE = __name__

AGENT = Agent(
    flavor="aider",
    version=1,
    roots=lazy(f"{_HERE}.layout:roots"),
    discover=lazy(f"{_HERE}.layout:discover"),
    recognizes=lazy(f"{_HERE}.layout:recognizes"),
    read=lazy(f"{_HERE}.source:read"),
    bookkeeping=frozenset({"line", "tokens"}),
    in_repositories=(".aider.chat.history.md",),
    resume_command=("aider", "--restore-chat-history"),
    resumes_without_id=True,
    instruction_files=(),
    usage_note="rounds tokens and costs in its log, and estimates the tokens of streamed answers",
    hidden_kinds=frozenset({"info"}),
)
