"""The title of a pattern and the advice what to do about it.

Texts from transcripts appear in an advice as quotes: they are data, and never a command of ours.
"""

from session_memory.learn.detect import detectors
from session_memory.learn.digest.steps import runs_shell
from session_memory.learn.patterns import Fix, Pattern
from session_memory.learn.quoting import quoted

_HOW = {
    "edit": "an edit of {text}",
    "command": "the command {text}",
    "look": "a look at {text}",
    "instead": "{text} in its place",
    "again": "the same call again",
}


def title(pattern: Pattern) -> str:
    """A short name for the pattern's type. For an unknown type, the type without underscores."""
    detector = detectors().get(pattern.type)
    return pattern.type.replace("_", " ") if detector is None else detector.title


def advice(pattern: Pattern) -> str:
    """What to do about the pattern, with what helped in earlier sessions if that is known."""
    detector = detectors().get(pattern.type)
    template = "{detail}" if detector is None else detector.advice
    text = template.format(locus=quoted(_place(pattern.locus)), detail=quoted(pattern.detail))
    helped = [how(fix) for fix in pattern.resolutions if fix.kind != "again"]
    if not helped:
        return text
    return f"{text.removesuffix('.')}. What helped, quoted from a log: {helped[0]}."


def _place(locus: str) -> str:
    """A locus without the agent's name for its shell, as in ``exec_command: pnpm test``."""
    tool, found, command = locus.partition(": ")
    return command if found and runs_shell(tool) else locus


def how(fix: Fix) -> str:
    """What resolved an error, such as "the command `pip install torch`".

    It says what was done. It does not tell anybody to do it.
    """
    return _HOW.get(fix.kind, "{text}").format(text=quoted(fix.text))
