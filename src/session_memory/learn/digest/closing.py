"""Find out from an agent's last answer how the work stands.

For example: does the agent ask the person something, has it given up, does it blame a failed check
on something outside the task? An agent's words about its own work never prove success.
"""

import re

_TAIL = 600
# The agent says that the failure was there before, or has nothing to do with the task.
_NOT_OURS = re.compile(
    r"""\b(?: pre-?existing | existing(?=[^.\n]{0,40}\b(?:fail|error|issue|timeout|problem|flak))
      | unrelated | not\s(?:related|caused|introduced)
      | (?:was|were|is|are|have\sbeen)\salready\s(?:there|fail\w*|broken|red)
      | (?:fail\w*|broken)\s(?:before|without|on\s(?:main|master|trunk)) | flak[ye]\w*
      | (?:in|of|from)\s(?:this|the|my|our)\s(?:\w+\s)?(?:environment|sandbox|container|machine)
      | (?:because|due\sto|since|requires?|needs?)\b[^.\n]{0,60}\b(?:network|dns|credentials?|docker
        |database|environment|not\sinstalled|unavailable|offline|api\skey)
      | environment(?:al)?\s(?:issue|problem|failure|limit\w*) | sandbox\w* | outside\s(?:of\s)?
      (?:this|the|my|our)\s(?:change|scope|work|task)\w* | baseline\sfail\w*
      | vorbestehend\w* | schon\svorher | unabhängig\svon | nicht\s(?:verwandt|davon\sbetroffen)
      | préexistant\w* | sans\srapport | non\sliée?s? | preexistente\w* | no\srelacionad\w*
      | не\sсвязан\w* | preesistent\w* | não\srelacionad\w* )\b
    | 预存 | 既有 | 原有(?:的)?(?:问题|错误|失败) | 之前就(?:有|存在|失败) | 无关 | 环境问题
    | 環境 | 既存 | 無関係 | 関係(?:の)?な | 기존 | 무관""",
    re.IGNORECASE | re.VERBOSE,
)
# The agent says that all tests or checks pass.
_ALL_PASS = re.compile(
    r"\b(?:all|every|[\d,.]{1,9})\s(?:[\w-]{1,20}\s){0,3}(?:tests?|checks?|specs?|suites?)\b"
    r"[^.\n]{0,40}\b(?:pass\w*|green|succeed\w*)\b|\btests?\s(?:all\s)?pass(?:ed)?\b"
    r"|测试(?:全部|都|均)?通过|テスト(?:は|が)?(?:すべて|全て)?(?:通|成功)"
    r"|alle tests (?:grün|bestanden)",
    re.IGNORECASE,
)
_STILL_FAILS = re.compile(
    r"\b(?:still|not yet|except|but)\b[^.\n]{0,60}\b(?:fail\w*|broken|red|error\w*)\b",
    re.IGNORECASE,
)
# The last line begins with what the agent wants to do, and a colon ends it.
_ANNOUNCED = re.compile(
    r"""(?:^|[\n.!])\W*(?:(?:now|next|finally|then|first|good|great|perfect|okay|ok)\b[\s,.!:]*){0,3}
      (?:let['’]?s\b | let\sme\b(?!\sknow) | i['’]ll\b | i\swill\b | i['’]m\sgoing\sto\b)
      [^\n.!?:]{3,200}[:：]\Z""",
    re.IGNORECASE | re.VERBOSE,
)
# The last words only say that others still work, or that a report follows later.
_WAITING = re.compile(
    r"\bwaiting (?:for|on)\b[^.\n]{1,120}\b(?:to (?:finish|complete|return|report|respond|end)"
    r"|before|results?)\b[^.\n]*[.…]*\Z"
    r"|\bI['’]ll (?:report|update you|let you know|notify you|check back|get back|compile"
    r"|summari[sz]e)\b[^.\n]{0,80}\b(?:when|once|as soon as)\b[^.\n]*[.…]*\Z",
    re.IGNORECASE,
)
# The call that should commit failed, but the agent says that the commit exists: a hook or another
# session made it.
_COMMITTED = re.compile(
    r"\bcommit(?:ted)?\b[^.\n]{0,40}\b(?:succe\w+|went through|landed|effectively done)\b"
    r"|\b(?:already|were|was|are|is|now) (?:been )?(?:committed|in HEAD)\b"
    r"|\b(?:included|contained|combin\w+|bundled|part)\b[^.\n]{0,60}\bcommit\b|已(?:经)?提交",
    re.IGNORECASE,
)
# An offer such as "Want me to fix it?" follows an answer. A question such as "Which one do you
# mean?" replaces the answer, so it is no offer.
_OFFER = re.compile(
    r"(?<!what )(?<!which )(?<!how )\b(?:would|do) you (?:like|want) (?:me|us) to\b|\bwant me to\b"
    r"|(?<!what )(?<!which )(?<!how )(?<!where )\b(?:shall|should|may|can) i\b"
    r"|(?<!was )(?<!wie )\bsoll ich\b|möchtest du, dass ich|¿?quieres que"
    r"|¿?te gustaría|(?:voulez-vous|veux-tu) que je|\bvuoi che\b|\bquer que eu\b"
    r"|хотите, чтобы я|мне (?:начать|сделать)|(?:需要|要|是否)[^?？]{0,6}我|要不要"
    r"|しましょうか|しますか|할까요|드릴까요|\banything else\b",
    re.IGNORECASE,
)
# "It is done. What would you like to do next?" asks for another task.
_DONE = re.compile(r"\b(?:I['’]ve|I have|is|are|all|now)\s(?:\w+\s)?(?:done|completed?|finished)\b")
_WHAT_NEXT = re.compile(r"\bnext\s?\?[\s\"'*_)`]*\Z", re.IGNORECASE)
_REQUESTED = re.compile(
    r"(?:\A|[.!\n]\s*)(?:please|bitte|请|s['’]il (?:te|vous) plaît|por favor)\b[^.\n]{0,120}"
    r"\b(?:provide|share|specify|tell|confirm|paste|clarify|choose|let me know)\b[^\n]{0,160}\Z"
    r"|请[^。\n]{0,20}(?:告诉|提供|确认|说明|指定|补充)[^。\n]{0,80}[。：:]?\Z"
    r"|(?:教えて|指定して|共有して|確認して)ください[。\s]*\Z",
    re.IGNORECASE,
)
# The last sentence tells the person what to say next. "Let me know if …" is an offer.
_TELL_ME = re.compile(
    r"(?:\A\W*(?:\d+[.)]\s*)?|\b(?:then|and|also)\s)"
    r"(?:(?:please\s)?(?:let me know|tell me|send me|give me)\b"
    r"(?!\s(?:if|whether|should|how it goes|what you think|when(?:ever)? you (?:want|need|like)))"
    r"|(?:dis|dites)[-‑ ]moi\b|sag mir\b|dime\b|dímelo\b|dimmi\b)",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\W*(?:\d+[.)]\s*)?(?:if|wenn|falls|si|se|如果)\b", re.IGNORECASE)
# The answer ends a step of a longer workflow, and the person has to choose how it goes on. The
# summary of an event has no line breaks, so the beginning of a sentence is searched for, not of a
# line.
_CHOOSE = re.compile(
    r"(?:\A|[.!?:;)]\s)\W*(?:please\s)?(?:(?:reply|respond|answer) with\b|your choice\b"
    r"|(?:choose|pick|select) (?:one|an option|a number)\b"
    r"|how (?:should|shall|do|would) (?:we|you|I) (?:(?:want|like) )?(?:me )?(?:to )?proceed\b"
    r"|réponds par\b|répondez par\b|votre choix\b|choisis(?:sez)?\b|antworte mit\b"
    r"|responde con\b|elige\b|rispondi con\b|responda com\b|请(?:选择|回复)|選択してください)"
    r"[^.!?\n]{0,150}[.?:：。\s]*\Z",
    re.IGNORECASE,
)
# An answer that begins with such words says that the agent could not do the task. The subject must
# be the agent: "it can't be null" is an answer to a question, and so is "I couldn't find any".
_GAVE_UP = re.compile(
    r"""\b(?:I|we)(?:['’]m|['’]ve|\sam|\swas|\shave)?\b[^.\n]{0,40}?\b
      (?: can['’]?t | cannot | could(?:n['’]t|\snot) | unable\sto
        | (?:wasn['’]t|not|isn['’]t)\sable\sto
        | don['’]t\shave\s(?:\w+\s){0,2}(?:ability|access|permission\w*|credentials|tools?)
        | (?:am|was|['’]m)\sblocked )\b
      (?!\s(?:find|see|spot|identify|detect|reproduce|think|recommend|verify|confirm|tell|say
        |guarantee|speak|know|be\s(?:sure|certain)|rule\sout|emphasize))
    | \bI['’]m\s(?:encountering|experiencing|having|running\sinto)\s(?:an?\s|some\s)?technical\b
    | \bich\s(?:kann|konnte)\b[^.\n]{0,60}\bnicht\b
    | \bje\sn(?:e\s|['’])(?:peux|ai\spas\spu|suis\spas\sen)
    | \bno\s(?:puedo|pude|he\spodido)\b | \bnon\s(?:posso|sono\sriuscito)\b
    | \bnão\s(?:posso|consigo|consegui)\b | \bя\sне\s(?:могу|смог)
    | 我(?:无法|不能|没有(?:权限|办法)) | 私(?:は|には)[^。\n]{0,30}できません
    | (?:할|드릴)\s수\s없""",
    re.IGNORECASE | re.VERBOSE,
)
# These words may stand anywhere in an answer. "I could not complete the test run" is not among
# them, because it says nothing about the work itself.
_UNSOLVED = re.compile(
    r"\bI(?:['’]m|['’]ve|\sam|\swas|\shave)?\b[^.\n]{0,20}\b(?:could(?:n['’]t|\snot)|unable\sto"
    r"|(?:wasn['’]t|not)\sable\sto|failed\sto)\s(?:\w{1,12}\s)?(?:fix|resolve|solve|implement)\b",
    re.IGNORECASE,
)
# The end of a call that a model wrote as text.
_UNREAD_CALL = re.compile(
    r"(?:</(?:tool_calls?|function|function_calls?|invoke|tool_use)>|<\|?/?tool_calls?(?:_end)?\|?>)"
    r"\s*\Z"
)
_BEGINNING = 200
_LONGEST_QUESTION = 1_000
# A longer prompt is no question because of a question mark somewhere in it.
_LONGEST_PROMPT = 1_500
_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|`[^`\n]*`|「[^」\n]*」|https?://\S+")
_QUESTION = re.compile(r"[?？][\s\"'*_)`]*\Z")
# A question and its possible answers in one line, as in the summary of an event.
_OPTIONS = re.compile(r"(?P<question>.*[?？])\s+(?:[-*•]|1[.)]|\(?a[.)])\s")
_ITEM = re.compile(r"\s*(?:[-*•‣]|\W?\d{1,2}[.)\]]|[`*(\[]*[A-Za-z][`*]*[.)\]])")


def is_not_ours(answer: str) -> bool:
    """Whether the answer says that what still fails has nothing to do with the work."""
    return _NOT_OURS.search(answer) is not None


def says_tests_pass(answer: str) -> bool:
    return _ALL_PASS.search(answer) is not None and _STILL_FAILS.search(answer) is None


def says_committed(answer: str) -> bool:
    return _COMMITTED.search(answer) is not None


def ends_with_question(answer: str) -> bool:
    """Whether the answer's last line asks the person something."""
    return _QUESTION.search(answer[-_TAIL:].rstrip()) is not None


def asks_to_choose(answer: str) -> bool:
    """Whether the answer's last line asks the person to choose how to go on ("Reply with a or b").

    Agents that follow a workflow end its steps like this, also if they changed files.
    """
    return _CHOOSE.search(_last_lines(answer)[-1]) is not None


def waits_for_person(answer: str) -> bool:
    """Whether the answer ends with a question or a request that the person has to answer first.

    An offer ("Want me to fix it?") is no such question, and neither is "Done. What is next?". A
    long answer never counts, because it has results beside its question.
    """
    if len(answer) > _LONGEST_QUESTION:
        return False
    lines = _last_lines(answer)
    if _REQUESTED.search(lines[-1]) or _tells_what_to_say(lines[-1]):
        return True
    if _DONE.search(answer) and _WHAT_NEXT.search(lines[-1]):
        return False
    if _QUESTION.search(lines[-1]):
        return not _OFFER.search(lines[-1])
    question = _question_above(lines)
    return bool(question) and not _OFFER.search(question)


def _last_lines(answer: str) -> list[str]:
    """Return the last lines of an answer that are not blank; at least one."""
    lines = [line for line in answer[-_TAIL:].splitlines() if line.strip()]
    return [line.rstrip() for line in lines] or [""]


def _tells_what_to_say(line: str) -> bool:
    sentence = re.split(r"(?<=[.!。])\s+", line)[-1]
    return _TELL_ME.search(sentence) is not None and _CONDITION.match(sentence) is None


def _question_above(lines: list[str]) -> str:
    """Return the question above the last line or above a list of possible answers; else ""."""
    if options := _OPTIONS.match(lines[-1]):
        return options["question"]
    above = len(lines) - 1
    if _ITEM.match(lines[above]):
        while above > 0 and _ITEM.match(lines[above]):
            above -= 1
    else:
        above -= 1
    return lines[above] if above >= 0 and _QUESTION.search(lines[above]) else ""


def gave_up(answer: str) -> bool:
    """Whether the answer begins with the statement that the agent cannot do the task."""
    return _GAVE_UP.search(answer[:_BEGINNING]) is not None


def is_unsolved(answer: str) -> bool:
    """Whether the answer says anywhere that the agent could not fix or solve the problem."""
    return _UNSOLVED.search(answer) is not None


def is_unread_call(answer: str) -> bool:
    """Whether the answer ends with a tool call that the model wrote as plain text.

    The agent did not recognize such a call, so the tool did not run.
    """
    return _UNREAD_CALL.search(answer) is not None


def announces_work(answer: str) -> bool:
    """Whether the answer ends with what comes next: "Now let me add the tests:", or "Waiting for
    the other agent to finish."

    The log breaks off there, because the work that was announced is missing.
    """
    end = answer[-_TAIL:].rstrip()
    return _ANNOUNCED.search(end) is not None or _WAITING.search(end) is not None


def is_question(prompt: str) -> bool:
    """Whether a prompt asks something: it has a question mark outside of quotes and addresses.
    An answer in words may be all that such a prompt wants. A long prompt, such as the text of a
    command, has to end with the question."""
    if len(prompt) > _LONGEST_PROMPT:
        return _QUESTION.search(prompt[-_TAIL:]) is not None
    return re.search("[?？]", _QUOTED.sub("", prompt)) is not None
