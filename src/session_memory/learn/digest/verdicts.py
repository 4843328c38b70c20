"""Classify what a person wrote: praise, complaint, dismissal, or an instruction how to work.

Praise with a reservation ("great, but …") is no verdict; then other evidence decides the outcome.
Short verdicts are recognized in many languages (`verdict_words`), whole sentences and instructions
only in English.
"""

import re

from session_memory.learn.digest.verdict_words import (
    is_about_the_result,
    is_complaint,
    is_dismissal,
    is_praise,
)

PRAISE, COMPLAINT, DISMISSAL = "praise", "complaint", "dismissal"
# A text of more characters is no verdict but the next task.
_LONGEST = 400

_PRAISE = re.compile(
    r"""[\s"'*(“]*
    (?: (?:ok(?:ay)?|yes|yep|yeah|cool|wow|ah|oh)[,.! ]+ )?
    (?: thanks? | thank\ you | thx | ty | perfect | great | awesome | excellent | amazing
      | brilliant | nice(?!\ try) | lovely | lgtm | looks\ (?:good|great|right|fine)
      | well\ done | good\ (?:job|work)
      | (?:it|that|this|everything|all)?\ ?(?:now\ )?works?(?:\ now|\ fine|\ great|\ perfectly)?
      | (?:that|this)(?:['’]s|\ is)\ (?:it|perfect|great|right|correct|exactly)
      | all\ good | ship\ it | fixed | solved | exactly )
    # "Perfect squares", "fixed point" and "nice to have" are no praise.
    (?= \s* (?: $ | [^\w\s'’?-] | -\ | (?:you|thanks?|thx|so|it|that|this|work|job|one|for|what
      |right|now|man|and|very|much|all|everything|looks|a\ lot|as|like|on)\b ) )""",
    re.IGNORECASE | re.VERBOSE,
)
_NO_TROUBLE = re.compile(
    r"\b(?:no|zero|0|without(?: any)?)(?: more)? (?:errors?|fail\w*|problems?|issues?|bugs?)\b",
    re.IGNORECASE,
)
_RESERVATION = re.compile(
    r"""\b(?: but | except | however | although | though | unfortunately | sadly | yet | still
      | again | not | no | never | nothing | \w+n['’]t | cannot | only | opposite | instead
      | fail\w* | brok\w* | break\w* | crash\w* | error\w* | wrong\w* | bug\w* | problems? | issues?
      | worse | red | gone | lost | missing | slow\w* | stuck | hang\w* | hung | time[sd]?\ ?out
      | timeouts? | revert\w* | undo | undone | delet\w* | remov\w* | roll\ back | overflow\w* | why
      | done\ with\ you )\b
    | [,.;:!]\s*(?:and\ )?now\b(?!\s*(?:it|that|this|everything|all)\ works) | \?""",
    re.IGNORECASE | re.VERBOSE,
)
_SURE = re.compile(
    r"\b(?:works?|fixed|solved|exactly|correct|right|perfect(?:ly)?|lgtm|looks (?:good|great|fine)"
    r"|all good|ship it|pass(?:es|ed)?|green)\b",
    re.IGNORECASE,
)
_COMPLAINT = re.compile(
    r"""\b(?:
      (?:still|again)\ (?:\w+\ ){0,2}
        (?:fail\w*|broken|wrong|crash\w*|error\w*|not\b|does(?:n|\ not))
      | (?:does|did|do|is|it['’]?s)(?:n['’]?t|\ not|nt)\ (?:\w+\ )?(?:work|right|correct|what\ i)
      | not\ working | not\ what\ i\ (?:asked|wanted|meant)
      | (?:that|this|it)(?:['’]?s|\ is|\ was)\ (?:\w+ly\ |all\ )?(?:wrong|broken|worse|useless)
      | you\ (?:broke|deleted|ignored) | same\ (?:error|problem|failure) | made\ it\ worse
      | the\ opposite\ of
    ) | ^\W*wrong\b""",
    re.IGNORECASE | re.VERBOSE,
)
# A condition ("when it fails …") is no complaint, and neither is a quoted text.
_CASE = re.compile(
    r"\b(?:where|when|whenever|if|in case|unless|until|which|while|because)\b[^.;!?\n]*\Z",
    re.IGNORECASE,
)
_QUOTE = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|`[^`\n]*`")
_DISMISSAL = re.compile(
    r"""(?: \bnever\ ?mind\b | \bforget\ (?:it|about\ it|this)\b | \bgive\ up\b
    | \bdrop\ (?:it|this)\b
    | \bi(?:['’]ll|\ will|['’]m\ going\ to)\ (?:just\ )?do\ (?:it|this|that)
      \ (?:myself|by\ hand|manually)\b
    | \b(?:let['’]?s|we)\ (?:can\ )?(?:leave|abandon)\ (?:it|this|that)\b
    | ^\W*(?:abort|cancel\ (?:it|that|this|everything)|stop\ here|stop\.?$) )
    # "Never mind the warnings" and "drop this table" do not dismiss the task.
    (?= \s* (?: $ | [^\w\s] | (?:for\ now|then|now|here|please|thanks?|i|it['’]?s|we|let['’]?s
      |on\ (?:it|this|that)|and|as)\b ) )""",
    re.IGNORECASE | re.VERBOSE,
)
_NEGATED = re.compile(r"\b(?:not|never|\w+n['’]t|dont)(?: \w+){0,2} ?\Z", re.IGNORECASE)
_GOES_ON = re.compile(
    r"\b(?:continue|go on|go ahead|carry on|proceed|keep|try|use|instead|works?)\b", re.IGNORECASE
)

# "never commit without asking", "use uv, not pip": rules for every task.
_INSTRUCTION = re.compile(
    r"""\b(?: don['’]?t | do\ not | never | always | please\ (?:stop|use|don['’]?t) | stop\ \w+ing
      | use\ .{1,40}\b(?:not|instead) | instead\ of | must\ (?:not)? | make\ sure
      | i\ (?:told|said|asked) | as\ i\ said | remember\ (?:to|that) | again[,:]
      | no[,.]\ (?:use|not|don['’]?t|you) )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_LONGEST_INSTRUCTION = 300


def verdict(text: str) -> str | None:
    """Return ``praise``, ``complaint`` or ``dismissal``; None for anything else, such as a task."""
    if len(text) > _LONGEST:
        return None
    text = _QUOTE.sub("…", text)
    if _dismisses(text) or is_dismissal(text):
        return DISMISSAL
    if any(not _CASE.search(text, 0, found.start()) for found in _COMPLAINT.finditer(text)):
        return COMPLAINT
    if is_complaint(text):
        return COMPLAINT
    if is_praise(text):
        return PRAISE
    found = _PRAISE.match(text)
    if found is None or _RESERVATION.search(_NO_TROUBLE.sub("", text[found.end() :])):
        return None
    return PRAISE


def says_it_works(text: str) -> bool:
    """Whether praise is about the result. Mere thanks are not: they may follow a failure, too."""
    return _SURE.search(text) is not None or (is_praise(text) and is_about_the_result(text))


def _dismisses(text: str) -> bool:
    found = _DISMISSAL.search(text)
    if found is None or _NEGATED.search(text, 0, found.start()):
        return False
    return not _GOES_ON.search(text, found.end())


def is_instruction(text: str) -> bool:
    """Whether a prompt says how to work ("never …", "use X, not Y") rather than what to do."""
    return len(text) <= _LONGEST_INSTRUCTION and _INSTRUCTION.search(text) is not None
