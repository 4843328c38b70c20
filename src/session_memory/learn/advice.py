"""The title of a pattern and the advice what to do about it."""

from session_memory.learn.detect import detectors
from session_memory.learn.patterns import Fix, Pattern

_HOW = {
    "edit": "edit {text}",
    "command": "run {text}",
    "look": "look at {text} first",
    "instead": "use {text} instead",
    "again": "try again",
}


def title(pattern: Pattern) -> str:
    """A short name for the pattern's type. For an unknown type, the type without underscores."""
    detector = detectors().get(pattern.type)
    return pattern.type.replace("_", " ") if detector is None else detector.title


def advice(pattern: Pattern) -> str:
    """What to do about the pattern, with what helped in earlier sessions if that is known."""
    detector = detectors().get(pattern.type)
    template = "{detail}" if detector is None else detector.advice
    text = template.format(locus=pattern.locus, detail=pattern.detail)
    helped = [how(fix) for fix in pattern.resolutions if fix.kind != "again"]
    return f"{text} What helped: {helped[0]}." if helped else text


def how(fix: Fix) -> str:
    """A resolution as an instruction, such as "run pip install torch"."""
    return _HOW.get(fix.kind, "{text}").format(text=fix.text)
