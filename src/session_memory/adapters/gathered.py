"""Telling an agent's own directory from one in which somebody gathered logs.

Only in the latter are logs looked for one by one and told by their first bytes: in a home, every
adapter would otherwise open the logs of all the others.
"""

from pathlib import Path

_AGENTS = frozenset(
    {
        ".claude",
        ".codex",
        ".grok",
        ".gemini",
        ".qwen",
        ".copilot",
        ".pi",
        ".cline",
        ".kimi",
        ".vibe",
        ".mycode",
    }
)


def is_an_agents(root: Path) -> bool:
    """Whether ``root`` is a home with agents in it, an agent's directory, or a part of one.

    What may not be looked into is left to the agent whose it is.
    """
    if not _AGENTS.isdisjoint((root.name, root.parent.name)):
        return True
    try:
        return any((root / name).is_dir() for name in _AGENTS)
    except OSError:
        return True
