"""Build the title of a pattern (a problem that recurs in sessions) and the advice about it.

Texts from transcripts appear in the advice as quotes, because they are data and not instructions.
"""

from session_memory.core.text import below_repo
from session_memory.learn.detect import detectors
from session_memory.learn.digest.resolutions import SAME_FILE
from session_memory.learn.digest.steps import runs_shell
from session_memory.learn.patterns import Fix, Pattern
from session_memory.learn.quoting import quoted

_HOW = {
    "edit": "an edit of {text}",
    "command": "the command {text}",
    "look": "reading {text} first",
    "instead": "{text} in its place",
    "again": "the same call again",
}


def title(pattern: Pattern) -> str:
    """Return the title of the pattern's type; for an unknown type, its name with spaces."""
    detector = detectors().get(pattern.type)
    return pattern.type.replace("_", " ") if detector is None else detector.title


def advice(pattern: Pattern) -> str:
    """Return what to do about the pattern, and what helped in earlier sessions if that is known."""
    detector = detectors().get(pattern.type)
    template = "{detail}" if detector is None else detector.advice
    text = template.format(locus=quoted(_place(pattern.locus)), detail=quoted(pattern.detail))
    helped = [how(fix, pattern.only_repo) for fix in pattern.resolutions if fix.kind != "again"]
    if not helped:
        return text
    return f"{text.removesuffix('.')}. What helped, quoted from a log: {helped[0]}."


def _place(locus: str) -> str:
    """Return the locus without a shell tool before it.

    ``exec_command: pnpm test`` gives ``pnpm test``; a locus with another tool stays as it is.
    """
    tool, found, command = locus.partition(": ")
    return command if found and runs_shell(tool) else locus


def how(fix: Fix, repo: str | None = None) -> str:
    """Describe what resolved an error, such as "the command `pip install torch`".

    Paths below the repository ``repo`` become relative to it. The text only says what a session
    did. It does not tell an agent to do the same.
    """
    text = fix.text if fix.text == SAME_FILE else quoted(below_repo(fix.text, repo))
    return _HOW.get(fix.kind, "{text}").format(text=text)
