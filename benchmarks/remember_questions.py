"""Questions with exact answers, made from the logs, asked through the tools of the MCP server.

A question is right if the text of the answer has the exact words, or the right session first. If it
has not, the first session of the answer is shown, as an agent would do: that is the column
``+ show``. Questions about what is nowhere are right if the answer says that nothing was found;
there, the second column also counts answers that say how doubtful they are.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

import msgspec
from remember_replay import Past, PastSession
from remember_rules import file_name
from remember_tables import Row, Table, middle, share

from session_memory import Memory
from session_memory.mcp.asking import Question
from session_memory.mcp.catalog import checked_arguments
from session_memory.search.recall_terms import terms_in
from session_memory.views.choices import choices_in
from session_memory.views.current_repository import CurrentRepository
from session_memory.views.short_names import short_names

SEED = 14
MOST = 40
OFTEN = 3
_REF = re.compile(r"^\[([^\]]+)\]", re.MULTILINE)
_NOTHING = ("nothing found (", "no fix known for this error (", "no such session (")
_HEDGED = ("weak matches only", "not this error, but similar")
_TESTED = re.compile(r"""([\w./@-]*(?:test|spec)[\w/-]*\.\w+|(?<=-k )[\w-]+|(?<=--grep ")[^"|]+)""")
_HASH = re.compile(r"[0-9a-f]{7,12}\b")
Asked = Iterable["ExactQuestion"]


class ExactQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a tool. Right is one of ``texts`` in the answer, or one of ``sessions`` first."""

    tool: str
    arguments: dict[str, Any]
    texts: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()

    @property
    def is_nowhere(self) -> bool:
        return not (self.texts or self.sessions)


class ExactAnswer(msgspec.Struct, frozen=True):
    question: ExactQuestion
    answer: str
    is_right: bool
    is_right_shown: bool
    tokens: int
    ms: float


# ---------------------------------------------------------------- questions


def edited_to_fix(past: Past) -> Asked:
    """Which file was edited to fix this error? Each session that resolved it may be meant."""
    files: dict[tuple[str, str], set[str]] = defaultdict(set)
    first: dict[tuple[str, str], tuple[PastSession, Any]] = {}
    for one in past.sessions:
        for error in one.digest.error_snippets:
            if error.resolution and error.resolution.kind == "edit" and error.origin == "call":
                key = (one.repo or "", error.fingerprint)
                files[key].update(map(file_name, error.resolution.text.split(",")))
                first.setdefault(key, (one, error))
    for (repo, mark), (one, error) in first.items():
        output = past.output(one.uid, error)
        given = {"error": output, "command": error.call, "repo": repo or "*"}
        names = tuple(sorted(name for name in files[repo, mark] if name and name not in output))
        # A name that the error itself has would be right without any memory.
        if names:
            yield ExactQuestion(tool="fix", arguments=given, texts=names)


def ran_tests(past: Past) -> Asked:
    """Which command ran the tests of this file or of this name?"""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in past.sessions:
        for run in one.digest.tests:
            for match in _TESTED.finditer(run.command):
                if match.end() < len(run.command) - 1:
                    begin = re.split(r"&&|;|\|", run.command[: match.end()])[-1]
                    found[one.repo or "", match[0].strip()].add(" ".join(begin.split()))
    for (repo, name), commands in sorted(found.items()):
        given = {"query": f"command that ran the tests of {name}", "repo": repo or "*"}
        yield ExactQuestion(tool="recall", arguments=given, texts=tuple(sorted(commands)))


def made_commit(past: Past) -> Asked:
    """Which session made this commit?"""
    sessions: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in past.sessions:
        for commit in one.digest.commits:
            if found := _HASH.match(commit.text):
                sessions[one.repo or "", found[0]].append(one.uid)
    for (repo, number), uids in sorted(sessions.items()):
        given = {"query": number, "repo": repo or "*"}
        yield ExactQuestion(tool="recall", arguments=given, sessions=tuple(uids))


def was_decided(past: Past) -> Asked:
    """What did the person choose?"""
    for one in past.sessions:
        for decision in one.digest.decisions:
            for asked, chosen in choices_in(decision.text):
                chosen = chosen.removesuffix("(Recommended)").strip()[:60]
                if asked and chosen.casefold() not in asked.casefold():
                    given = {"query": asked, "repo": one.repo or "*"}
                    yield ExactQuestion(tool="recall", arguments=given, texts=(chosen,))


def changed_last(past: Past) -> Asked:
    """Which session had this file last? The newest of several counts."""
    sessions: dict[tuple[str, str], list[PastSession]] = defaultdict(list)
    for one in past.sessions:
        for file in one.digest.files:
            if one.is_asked and file.path.startswith("/") and one.repo:
                _, inside, path = file.path.partition(f"/{one.repo}/")
                if inside:
                    sessions[one.repo, path].append(one)
    for (repo, path), some in sorted(sessions.items()):
        if len(some) >= OFTEN:
            last = max(some, key=lambda one: (one.ended, one.uid))
            given = {"file": path, "repo": repo}
            yield ExactQuestion(tool="sessions", arguments=given, sessions=(last.uid,))


def nowhere(past: Past) -> Asked:
    """Commits, files, errors and topics that the asked repository does not have."""
    random = Random(SEED)
    repos = sorted({one.repo for one in past.sessions if one.repo})
    for repo in repos:
        own = [one for one in past.sessions if one.repo == repo]
        others = [one for one in past.sessions if one.repo not in (repo, None) and one.is_asked]
        yield _asked("recall", repo, query=f"{random.getrandbits(28):07x}")
        marks = {error.fingerprint for one in own for error in one.digest.error_snippets}
        names = {file_name(file.path) for one in own for file in one.digest.files}
        words = {term for one in own for term in _words(past, one)}
        for one in random.sample(others, min(MOST // 2, len(others))):
            title = one.digest.title or ""
            terms = set(terms_in(title))
            if len(terms) >= OFTEN and len(terms - words) * 2 > len(terms):
                yield _asked("recall", repo, query=title)
            for error in one.digest.error_snippets[:1]:
                if error.fingerprint not in marks and error.origin == "call":
                    yield _asked("fix", repo, error=error.sample)
            for file in one.digest.files[:1]:
                if file_name(file.path) not in names:
                    yield _asked("sessions", repo, file=file_name(file.path))


def _asked(tool: str, repo: str, **given: str) -> ExactQuestion:
    return ExactQuestion(tool=tool, arguments={**given, "repo": repo})


def _words(past: Past, one: PastSession) -> Iterable[str]:
    return terms_in(" ".join(statement.text for statement in one.digest.prompts))


CLASSES: dict[str, Callable[[Past], Asked]] = {
    "which file was edited to fix it": edited_to_fix,
    "which command ran the tests of it": ran_tests,
    "which session made the commit": made_commit,
    "what was decided": was_decided,
    "which session had the file last": changed_last,
    "nowhere: says that nothing was found": nowhere,
}


# ---------------------------------------------------------------- answers


def answered(memory: Memory, asked: ExactQuestion, now: int) -> ExactAnswer:
    begun = perf_counter()
    text = _answer(memory, asked.tool, asked.arguments, now)
    ms = (perf_counter() - begun) * 1000
    is_right = _is_right(memory, asked, text)
    refs = _REF.findall(text)
    is_shown = is_right or (asked.is_nowhere and any(word in text for word in _HEDGED))
    if not is_right and asked.texts and refs:
        shown = _answer(memory, "show", {"ref": refs[0].partition("#")[0]}, now)
        is_shown = _is_right(memory, asked, shown)
    return ExactAnswer(asked, text, is_right, is_shown, len(text) // 4, ms)


def _answer(memory: Memory, tool: str, given: dict[str, Any], now: int) -> str:
    arguments = checked_arguments(tool, given)
    question = Question(memory, CurrentRepository(Path("/")), arguments, now)
    import_module(f"session_memory.mcp.answers.{tool}").write(question, arguments)
    return str(question.answer)


def _is_right(memory: Memory, asked: ExactQuestion, text: str) -> bool:
    if asked.is_nowhere:
        return text.startswith(_NOTHING)
    if asked.sessions:
        names = short_names(memory.store, list(asked.sessions)).values()
        return any(ref.partition("#")[0] in names for ref in _REF.findall(text)[:1])
    flat = " ".join(text.split()).casefold()
    return any(" ".join(one.split()).casefold() in flat for one in asked.texts)


def table(past: Past, now: int) -> Table:
    rows, misses = [], []
    for name, made in CLASSES.items():
        every = list(made(past))
        every = list({repr(one): one for one in every}.values())
        some = every if len(every) <= MOST else Random(SEED).sample(every, MOST)
        found = [answered(past.memory, one, now) for one in some]
        rows.append(_row(name, len(every), found))
        misses += [line for one in found if not one.is_right for line in _miss(name, one)]
    return Table("C. questions with exact answers", rows, misses)


def _row(name: str, made: int, found: Sequence[ExactAnswer]) -> Row:
    return Row(
        name,
        {
            "made": made,
            "asked": len(found),
            "right": share([one.is_right for one in found]),
            "+ show": share([one.is_right_shown for one in found]),
            "tokens": middle([one.tokens for one in found]),
            "ms": middle([one.ms for one in found]),
        },
    )


def _miss(name: str, one: ExactAnswer) -> Iterator[str]:
    given = {key: str(value)[-200:] for key, value in one.question.arguments.items()}
    yield f"{name}: {one.question.tool} {given}"
    yield f"    right: {list(one.question.texts or one.question.sessions)[:4]}"
    yield from (f"    > {line[:160]}" for line in one.answer.splitlines()[:8])
