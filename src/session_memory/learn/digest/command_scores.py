"""Say how well a command between an error and its end fits the error."""

from collections.abc import Sequence

from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.learn.digest.actions import Action
from session_memory.learn.digest.command_parts import Part
from session_memory.learn.digest.error_lines import CHECKED
from session_memory.learn.digest.failed_calls import FailedCall
from session_memory.learn.digest.shell_files import written_files
from session_memory.learn.digest.telling import named_in, names_in

# A script that writes a file, in Python, JavaScript, Ruby or Perl.
_WRITING = lazy_pattern(
    r"""write_text|writeFile|\.write\(|open\([^)\n]*['"][wa]b?['"]|File\.write|fs\.(?:rm|unlink|rename)"""
    r"""|shutil\.|os\.(?:remove|rename)|perl -\S*i"""
)
_MISSING = lazy_pattern(
    r"(?i)not found|cannot find|no module named|could not (?:find|resolve)|missing|not installed"
    r"|is not recognized|not up.to.date|run \W?\w+ (?:install|i|sync)|unresolved|no such"
)
# Messages of a push that was refused because the remote branch has new commits, and the git
# commands that fetch these commits.
_BEHIND = lazy_pattern(r"(?i)fetch first|non-fast-forward|stale info|\bbehind\b|divergent")
_CATCHING_UP = frozenset({"pull", "fetch", "rebase", "merge"})
_DATABASES = frozenset({"psql", "mysql", "sqlite3"})
_SQL_CHANGE = lazy_pattern(
    r"(?i)\b(?:insert\ into|update|delete\ from|alter|create|drop|grant|truncate|set)\b| -f |<"
)
# SQL that changes rows, also in a script of another language.
_ROWS = lazy_pattern(r"(?i)\b(?:insert into|delete from|alter table|drop table|truncate)\b")
_COMMITTING = (("git", "add"), ("git", "commit"), ("git", "push"), ("git", "tag"))
_RUNS = (("run",), ("exec",), ("compose",))
_LONG_WORD = lazy_pattern(r"[a-z]{3,}")
_COMMON_WORDS = """
    the and for not with from error failed fail fatal cannot could exit code status line file
    command run was has are you your this that data users home tmp usr bin git
"""
_EMPTY_WORDS = frozenset(_COMMON_WORDS.split())


def command_score(failure: FailedCall, action: Action, names: frozenset[str]) -> float:
    error, parts = failure.error, action.parts
    if any(part.is_fixing for part in parts) and error.about in ("lint", "format"):
        return 5 if error.about == "format" else 3
    if any(part.is_installing for part in parts) and _MISSING.search(f"{error.text} {error.near}"):
        return 5
    if _BEHIND.search(error.text) and any(
        part.program == "git" and part.words[1:2] and part.words[1] in _CATCHING_UP
        for part in parts
    ):
        return 4
    if any(_is_advised(part, failure) for part in parts):
        return 5
    text = action.command
    if parts and all(part.words[:2] in _COMMITTING for part in parts):
        # The message of a commit names what was done, not what the command changes.
        text = " ".join(word for part in parts for word in part.words)
    shared = named_in(text, names_in(error.text) if failure.is_about_call else names)
    is_changing = any(
        part.is_changing and not _hands_over(failure, part) and not _asks_database(part, action)
        for part in parts
    )
    is_changing = is_changing or action.is_edit or bool(_WRITING.search(action.command))
    if action.checks_again(failure.action):
        return 0
    if any(len(name) > 3 and name in error.whole for name in written_files(action.command)):
        return 4
    if is_changing:
        return 4 if shared else 3.6 if failure.is_about_call and _is_setting(action) else 0
    return 0


def changes_something(action: Action) -> bool:
    return any(
        (part.is_changing and not _asks_database(part, action)) or part.is_installing
        for part in action.parts
    ) or bool(_ROWS.search(action.command))


def most_fitting(failure: FailedCall, changes: Sequence[Action]) -> list[Action]:
    """Return the last of several commands that has a word of the error; the only one in any case.

    Each of several other commands may have made the difference, so none is named.
    """
    if len(changes) == 1:
        return [*changes]
    words = set(_LONG_WORD.findall(failure.error.text.lower())) - _EMPTY_WORDS
    fitting = [one for one in changes if words & set(_LONG_WORD.findall(one.command.lower()))]
    return ([one for one in fitting if _is_setting(one)] or fitting)[-1:]


def _is_advised(part: Part, failure: FailedCall) -> bool:
    """Whether the failed program said to run this command: "Run this and stage the changes: …".

    Git is left out. Its hints name every command that may come next. So are the words of the failed
    command itself, which its usage repeats.
    """
    words = part.words[: 3 if part.words[1:2] in _RUNS else 2]
    if len(words) < 2 or words[0] == "git" or words[1].startswith("-"):
        return False
    if any(each.words[: len(words)] == words for each in failure.action.parts):
        return False
    return f" {' '.join(words)}" in f" {failure.error.near}"


def _asks_database(part: Part, action: Action) -> bool:
    """Whether a command only asks a database: ``psql -c "select …"``."""
    return part.program in _DATABASES and _SQL_CHANGE.search(action.command) is None


def _hands_over(failure: FailedCall, part: Part) -> bool:
    """Whether a command only tells git about the work: no file is different after it."""
    is_of_git = any(each.program == "git" for each in failure.action.parts)
    return (
        (failure.error.about in CHECKED or not is_of_git)
        and part.words[:1] == ("git",)
        and part.words[1:2] in (("add",), ("commit",), ("push",), ("tag",), ("branch",))
    )


def _is_setting(action: Action) -> bool:
    words = [word for part in action.parts for word in part.words[:3]]
    return any(word in ("config", "remote", "auth", "login", "export", "chmod") for word in words)
