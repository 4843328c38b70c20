"""What a pattern is called, and what one may do about it: one sentence each, by type."""

from session_memory.learn.patterns import Fix, Pattern

_TITLES = {
    "retry_storm": "The same call fails over and over",
    "repeated_error": "The same error again and again in one session",
    "recurring_error": "An error that comes back in session after session",
    "schema_thrash": "A tool is called with wrong arguments",
    "permission_denied": "Calls are refused",
    "timeout": "Commands run into a limit of time",
    "flaky_test": "Tests pass and fail without a change",
    "oversized_output": "Outputs fill the context",
    "reread_file": "A file is read again and again",
    "thrown_away": "Work is thrown away",
    "context_overflow": "The context runs full",
    "repeated_instruction": "An instruction had to be repeated",
    "recurring_instruction": "The same instruction in session after session",
    "failed": "Sessions end without success",
    "abandoned": "Sessions are given up",
    "budget_overrun": "Sessions use far more than is usual",
    "recovery": "An error that was overcome",
    "clean_pass": "Done at the first try",
}
_ADVICE = {
    "retry_storm": "After the second failure of {locus}, change something before trying again.",
    "repeated_error": "Write down how to avoid: {detail}",
    "recurring_error": "Write down how to avoid: {detail}",
    "schema_thrash": "Show the agent a correct call of {locus}.",
    "permission_denied": "Allow {locus}, or tell the agent not to try it.",
    "timeout": "Run {locus} in the background, in smaller parts, or with a longer limit.",
    "flaky_test": "Make this test run the same way every time: {locus}",
    "oversized_output": "Let {locus} print less: head, tail, a filter, a line range.",
    "reread_file": "Tell the agent what {locus} holds, or split it.",
    "thrown_away": "Agree on the plan before edits begin; smaller steps lose less.",
    "context_overflow": "Split such tasks into sessions of their own, or use subagents.",
    "repeated_instruction": "Put it into the agent's instruction file: {detail}",
    "recurring_instruction": "Put it into the agent's instruction file: {detail}",
    "failed": "Look at how these sessions ended before asking for the same again.",
    "abandoned": "Look at what these sessions were stopped for.",
    "budget_overrun": "Split tasks like these; look at what filled their context.",
}
_HOW = {
    "edit": "edit {text}",
    "command": "run {text}",
    "look": "look at {text} first",
    "instead": "use {text} instead",
    "again": "try again",
}


def title(pattern: Pattern) -> str:
    """What kind of thing it is, in a few words; a type nobody knows is told as it is."""
    return _TITLES.get(pattern.type, pattern.type.replace("_", " "))


def advice(pattern: Pattern) -> str:
    """What to do about it, with what helped before where that is known."""
    words = _ADVICE.get(pattern.type, "{detail}")
    text = words.format(locus=pattern.locus, detail=pattern.detail)
    helped = [how(fix) for fix in pattern.resolutions if fix.kind != "again"]
    return f"{text} What helped: {helped[0]}." if helped else text


def how(fix: Fix) -> str:
    """A resolution as something to do."""
    return _HOW.get(fix.kind, "{text}").format(text=fix.text)
