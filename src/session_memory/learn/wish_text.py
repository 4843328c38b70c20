"""Write the text of a lesson about an instruction that a person gives again and again."""

from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.learn.patterns import Pattern
from session_memory.learn.quoting import quoted

# An instruction of only such words asks to commit or deliver the work: "commit and push", "提交pr".
_HANDING_IN = lazy_pattern(
    r"(?i)\b(?:git|add|stage|commits?|push|prs?|pull|requests?|open|create|make|merge|release|publish"
    r"|deploy|tag|branch|changes?|it|this|that|the|an?|all|and|then|to|please|now|new)\b"
    r"|pr(?![a-z])|提交|推送|合并|发布|创建|分支|新的|[在了吧请]|[\W_]"
)
_DEED = lazy_pattern(r"(?i)commit|push|\bpr|merge|release|publish|deploy|提交|推送|合并|发布")
# Steps whose effect other people see.
_OUTWARD = lazy_pattern(
    r"(?i)push|\bprs?\b|提交pr|pull|merge|release|publish|deploy|推送|合并|发布"
)


def wish_lesson(pattern: Pattern) -> str:
    """Return what an agent should do about an instruction that it got in many sessions.

    The agent should follow the instruction without being asked, but commit only when the work is
    done. Steps that other people see (push, release) it should then only offer.
    """
    wish, times = quoted(pattern.detail), f"The user asked for it in {pattern.sessions} sessions."
    if not _DEED.search(pattern.detail) or _HANDING_IN.sub("", pattern.detail):
        return f"Do this without being asked: {wish}. {times}"
    if _OUTWARD.search(pattern.detail):
        return f"When the work is done and its checks pass, offer to do this: {wish}. {times}"
    return (
        f"When the work is done and its checks pass, do this without being asked: {wish}. {times}"
    )
