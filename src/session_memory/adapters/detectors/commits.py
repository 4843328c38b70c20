"""Find git commits in shell commands and in their output: their subjects, and whether they were
made."""

import re
from collections.abc import Iterator

from session_memory.core.lazy_patterns import lazy_pattern

EXAMINED = 4_000
_TAIL = 20_000
HASH = 7
# "[main 1a2b3c4] subject", "[detached HEAD 1a2b3c4] subject", "[x (root-commit) 1a2b3c4] subject".
MADE = lazy_pattern(
    r"^[ \t]{0,8}\[(?P<branch>[^\]\n]{1,200}?)(?: \(root-commit\))? (?P<hash>[0-9a-f]{7,40})\] "
    r"(?P<subject>[^\n]+)",
    re.MULTILINE,
)
# A wrapper or a pipe hides the exit status of a failed hook, so the output is searched, too.
REFUSED = lazy_pattern(
    r"no changes added to commit|^[^\w\n]{0,20}failed: git |^fatal: |^error: |aborting commit"
    r"|pre-(?:commit|push)\b[^\n]{0,100}\b(?:failed|exited|code [1-9])|\bhook (?:failed|declined)"
    r"|\[(?:remote )?rejected\]|failed to push",
    re.IGNORECASE | re.MULTILINE,
)
# The command still runs, or there was nothing to commit or to push.
UNDECIDED = lazy_pattern(
    r"\b(?:process|command) (?:is )?running (?:with|in)\b|nothing (?:added )?to commit"
    r"|everything up-to-date|pull request \S{0,200} ?already exists|already exists:\s*https?://",
    re.IGNORECASE,
)
# The output of a push that succeeded, and of a command that opened a pull request. git prints a
# line for each branch; ``gh`` and the like print the address of the pull request. The call may run
# other commands too, and these may print errors.
ARRIVED = lazy_pattern(
    r"^[ \t+*]{0,4}(?:[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40}|\[new (?:branch|tag)\])[ \t]+\S+ -> \S+"
    r"|^https?://\S{1,200}/(?:pull|pulls|merge_requests)/\d+\s*\Z",
    re.MULTILINE,
)
_COMMAND = lazy_pattern(
    r"\bgit(?:[ \t]+-[cC][ \t]+\S{1,200}|[ \t]+--?[\w=/.-]{1,80}){0,4}[ \t]+commit\b"
)
_MESSAGE = lazy_pattern(
    r"""(?:\s-[a-zA-Z]{0,8}F\s*-|\s--file(?:=|\s+)-)\s+<<-?\s*['"]?\w{1,40}['"]?[^\n]{0,200}
      \n\s*(?P<input>[^\n]+)
    | (?:\s-[a-zA-Z]{0,8}m\s*|\s--message(?:=|\s+))
    (?: "\$\(\s*cat\s*<<-?\s*['"]?\w{1,40}['"]?[ \t]*\n\s*(?P<document>[^\n]+)
      | "(?P<double>(?:[^"\\\n]|\\.)*) | '(?P<single>[^'\n]*) | (?P<word>[^\s"'$]\S*) )""",
    re.VERBOSE,
)
_NEXT_COMMAND = lazy_pattern(r"\n|&&|;")


def logged_commits(output: str) -> Iterator[tuple[str, str]]:
    """Yield the short hash and the subject of each commit that git reports in an output."""
    for found in MADE.finditer(output):
        yield found["hash"][:HASH], found["subject"].strip()


def given_subjects(command: str) -> Iterator[str]:
    """Yield the subject of each ``git commit`` in a shell text, if the text has its message."""
    text = command[:EXAMINED]
    for found in _COMMAND.finditer(text):
        message = _MESSAGE.search(text, found.end())
        if message is None or _NEXT_COMMAND.search(text, found.end(), message.start()):
            continue
        words = next((group for group in message.groups() if group is not None), "")
        if subject := words.replace('\\"', '"').strip():
            yield subject


def arrived(output: str, is_commit: bool, failed: bool) -> bool | None:
    """Whether the output shows that a commit was made, or that a push or pull request succeeded.

    ``failed`` says whether the call failed. None if the output does not tell.
    """
    if is_commit and MADE.search(output):
        # Another command of the same call may have failed afterwards.
        return True
    # Git writes the result at the end, after the output of its hooks.
    start = max(0, len(output) - _TAIL)
    if UNDECIDED.search(output, start):
        return None
    if failed:
        return False
    if not is_commit and "rejected]" not in output and ARRIVED.search(output, start):
        return True
    return not REFUSED.search(output, start)
