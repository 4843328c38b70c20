"""The repository that a session worked in."""

from session_memory.adapters.registry import worktree_places


def repo_of(cwd: str | None) -> str | None:
    """The name of the working directory; for an agent's worktree, the name of its repository."""
    if not cwd:
        return None
    path = cwd.replace("\\", "/").rstrip("/")
    for place in worktree_places():
        path = path.partition(place)[0]
    return path.rpartition("/")[2] or None
