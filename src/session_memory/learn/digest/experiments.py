"""Recognize shell texts that break something on purpose, run a check and undo the change.

Agents do this to see whether a new test notices the old mistake: ``git stash; pytest; git stash
pop``. The test is expected to fail, so its failure is no error and does not decide the outcome.
"""

from session_memory.derive.detecting import SimpleCommand, simple_commands

_IN_PLACE = frozenset({"sed", "perl", "gsed"})
_PATCHING = frozenset({"patch", "mv", "cp"})
_CHECKED_OUT = frozenset({"checkout", "restore"})
_PARTS = 40


def is_experiment(text: str) -> bool:
    """Whether a shell text changes files, runs something and restores them with git."""
    if "git" not in text:
        return False
    commands = [one for one in simple_commands(text)[:_PARTS] if one.words]
    restored = [place for place, one in enumerate(commands) if _restores(one)]
    if not restored:
        return False
    changed = [place for place, one in enumerate(commands) if _changes(one, commands[restored[-1]])]
    # At least one command runs between the change and its undoing.
    return bool(changed) and restored[-1] - changed[0] > 1


def _restores(command: SimpleCommand) -> bool:
    match command.words:
        case ["git", "stash", "pop" | "apply", *_]:
            return True
        case ["git", verb, *rest] if verb in _CHECKED_OUT:
            return bool(_paths(rest))
    return False


def _changes(command: SimpleCommand, restoring: SimpleCommand) -> bool:
    """Whether a command changes the files that the later command ``restoring`` restores."""
    words = command.words
    if restoring.words[1:2] == ["stash"]:
        return words[:2] == ["git", "stash"] and words[2:3] not in (["pop"], ["apply"], ["list"])
    restored = set(_paths(restoring.words[2:]))
    if restored & set(command.writes):
        return True
    is_in_place = words[0] in _IN_PLACE and any(
        word.startswith("-") and "i" in word for word in words[1:]
    )
    is_checkout = words[:1] == ["git"] and words[1:2] != [] and words[1] in _CHECKED_OUT
    if is_in_place or is_checkout or words[0] in _PATCHING:
        return command is not restoring and not restored.isdisjoint(words)
    return words[:2] in (["git", "apply"], ["git", "revert"])


def _paths(words: list[str]) -> list[str]:
    """Return the files among the arguments of ``git checkout`` or ``git restore``."""
    return [word for word in words if not word.startswith("-") and ("." in word or "/" in word)]
