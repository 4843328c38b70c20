"""Find which issue or pull request a session works on, in branch names, prompts and commits.

The result is ``#12``, ``owner/name#12`` if the text names the repository, ``owner/name!12`` for a
merge request of GitLab, or the key of a ticket (``SHOP-12``). In a prompt or a commit, a number
alone is never enough, because texts are full of numbers ("fixes (5 issues)", "[Image #1]"). A
prompt or commit that names two different issues has no result.
"""

import re
from collections.abc import Iterator

EXAMINED = 2_000

_NUMBER = r"[1-9]\d{0,5}(?![\w]|[.,]\d|%)"
_KEY = r"[A-Z][A-Z0-9]{1,9}-[1-9]\d{0,5}(?!\w|[.-]\d)"
# Words that look like the key of a ticket when a number follows, but are none, as in UTF-8.
_NO_PROJECTS = frozenset(
    {
        *("UTF", "SHA", "MD", "ISO", "RFC", "PEP", "CVE", "CWE", "GPT", "HTTP", "TLS", "ES", "RC"),
        *(
            "COVID",
            "ASCII",
            "AES",
            "RSA",
            "IEC",
            "IEEE",
            "ANSI",
            "EN",
            "DIN",
            "OPUS",
            "F",
            "H",
            "O",
        ),
    }
)
# Numbers that start the name of a branch for another reason: `404-page`, `32-bit-build`.
_NO_ISSUES = frozenset(
    {
        *(
            "200",
            "201",
            "204",
            "301",
            "302",
            "304",
            "400",
            "401",
            "403",
            "404",
            "405",
            "409",
            "413",
        ),
        *("422", "429", "500", "502", "503", "504", "16", "24", "32", "64", "128", "256", "512"),
        *("1024", "2048", "4096"),
    }
)
_YEAR = re.compile(r"(?:19|20)\d\d")

_BRANCH_WORD = re.compile(
    r"(?:^|[/_-])(?:issues?|gh|prs?|pull|pull-request|mr|ticket|bug)[-_/]?#?([1-9]\d{0,5})"
    r"(?=$|[/_-])",
    re.IGNORECASE,
)
_BRANCH_HASH = re.compile(r"#([1-9]\d{0,5})(?=$|[/_-])")
# The name that GitHub and GitLab suggest for a branch of an issue: `123-title-of-the-issue`.
_BRANCH_NUMBER = re.compile(r"(?:^|/)([1-9]\d{1,5})-[A-Za-z]+-[A-Za-z][\w-]*$")
_BRANCH_KEY = re.compile(r"(?:^|/)([A-Z][A-Z0-9]{1,9})-([1-9]\d{0,5})(?=$|[/_-])")

_NAME = r"[\w.-]{1,100}"
_ADDRESS = re.compile(
    rf"https?://[\w.-]+/(?P<repo>{_NAME}(?:/{_NAME}){{1,4}}?)/(?:-/)?"
    rf"(?P<what>issues|pull|pulls|work_items|merge_requests)/(?P<number>[1-9]\d{{0,5}})(?!\w)"
    rf"|https?://[\w.-]+/(?:{_NAME}/){{0,3}}(?:browse|issue)/(?P<key>{_KEY})"
)
_WORD = re.compile(
    # "issue 3" is often the third of a list, so a number without "#" needs two digits.
    r"\b(?:issue|pull[ -]request|merge[ -]request|PR|MR|ticket|bug)s?(?: no\.?| number)? ?"
    rf"#(?P<hash>{_NUMBER})"
    rf"|(?:,|\band|\bor|&) ?#(?P<next>{_NUMBER})"
    r"|\b(?:issue|pull[ -]request|merge[ -]request|PR|MR|ticket)(?: no\.?| number)? "
    # Two forms that name no issue: the verb "to issue", as in "issue 20 tokens", and a part of a
    # list, as in "issue 12 of 30".
    rf"(?P<plain>[1-9]\d{{1,5}}(?![\w]|[.,]\d|%))(?!\s+(?:of\b|\w+s\b))"
    # "fix #1" is a task only at the beginning of a sentence. "Even after fix #1" is none.
    rf"|(?:^|[.:!?]\s+|\n|\bplease |\bto )(?:fix|close|resolve)(?:e?[sd])?:? #(?P<closed>{_NUMBER})"
    rf"|\bGH-(?P<gh>{_NUMBER})",
    re.IGNORECASE,
)
_NAMED = re.compile(rf"(?<![\w/.-]){_NAME}/{_NAME}#{_NUMBER}")
_MAYBE_NAMED = re.compile(r"\w#[1-9]")
_NUMBERED = re.compile(r"[A-Za-z.] [1-9]\d|[Hh]-[1-9]")
_HEADING = re.compile(r"^#+ (.{1,300})", re.MULTILINE)
_COMMIT = re.compile(
    r"\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|part of|issue):? "
    rf"(?:(?P<repo>{_NAME}/{_NAME})?#(?P<number>{_NUMBER})|(?P<closed>(?-i:{_KEY})))"
    rf"|\(#(?P<suffix>{_NUMBER})\)[ \t]*(?=$|[\"'\n])"
    rf"|(?:-m ['\"]?|^)\[?(?P<key>(?-i:{_KEY}))\]?(?=:? )",
    re.IGNORECASE | re.MULTILINE,
)


def task_in_branch(name: str | None) -> str | None:
    """Return the issue, pull request or ticket in the name of a branch, or None."""
    if not name or not any(map(str.isdigit, name)):
        return None
    found = _BRANCH_WORD.search(name) or _BRANCH_HASH.search(name)
    if found:
        return f"#{found[1]}"
    if (found := _BRANCH_KEY.search(name)) and found[1] not in _NO_PROJECTS:
        return f"{found[1]}-{found[2]}"
    found = _BRANCH_NUMBER.search(name)
    if found is None or found[1] in _NO_ISSUES or _YEAR.fullmatch(found[1]):
        return None
    return f"#{found[1]}"


def task_in_prompt(text: str) -> str | None:
    """Return the issue, pull request or ticket that a prompt names; None if it names none or
    several."""
    text = text[:EXAMINED]
    has_address = "://" in text
    # Most prompts name no issue, and the patterns below are slow.
    if not has_address and "#" not in text and not _NUMBERED.search(text):
        return None
    refs = {*_in_addresses(text), *_in_words(_ADDRESS.sub(" ", text) if has_address else text)}
    numbers = {ref.rpartition("#")[2] for ref in refs}
    # "Fix issue #12, https://github.com/mira/shop/issues/12" names one issue in two ways.
    return max(refs, key=len) if len(numbers) == 1 else None


def task_in_plan(text: str) -> str | None:
    """Return the issue, pull request or ticket in the heading of a plan, or None. The text below
    the heading may mention others."""
    heading = _HEADING.search(text[:EXAMINED])
    return task_in_prompt(heading[1]) if heading else None


def task_in_commit(command: str) -> str | None:
    """Return the issue, pull request or ticket that the message of a ``git commit`` names; None if
    it names none or several."""
    _, is_commit, message = command[:EXAMINED].partition("commit")
    refs = set()
    for found in _COMMIT.finditer(message) if is_commit else ():
        if key := found["closed"] or found["key"]:
            refs.add(_key(key))
        else:
            refs.add(f"{found['repo'] or ''}#{found['number'] or found['suffix']}")
    refs.discard(None)
    return refs.pop() if len(refs) == 1 else None


def task_at(address: str) -> str | None:
    """Return the issue, pull request or ticket at a web address, or None."""
    return next(_in_addresses(address), None)


def _in_addresses(text: str) -> Iterator[str]:
    if "://" not in text:
        return
    for found in _ADDRESS.finditer(text):
        if found["key"]:
            if key := _key(found["key"]):
                yield key
        else:
            mark = "!" if found["what"] == "merge_requests" else "#"
            yield f"{found['repo']}{mark}{found['number']}"


def _in_words(text: str) -> set[str]:
    refs, is_list = set[str](), False
    if _MAYBE_NAMED.search(text):
        refs.update(_NAMED.findall(text))
    for found in _WORD.finditer(text):
        is_list |= found["next"] is not None
        numbers = (found[name] for name in ("hash", "plain", "closed", "gh", "next"))
        refs.add(f"#{next(filter(None, numbers))}")
    # A list like "1, #2" alone may be anything.
    return refs if len(refs) > is_list else set()


def _key(key: str) -> str | None:
    return None if key.partition("-")[0] in _NO_PROJECTS else key
