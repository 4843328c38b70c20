"""Write a retrospective as Markdown or as an HTML page.

Texts from transcripts are escaped and secrets in them are masked, because people share such pages.
"""

import re
from collections.abc import Callable, Iterator
from html import escape

import msgspec

from session_memory.core.text import below_repo, one_line
from session_memory.core.time import format_time, parse_time
from session_memory.learn.advice import title
from session_memory.learn.lesson import lesson_id
from session_memory.learn.lessons import Lessons
from session_memory.learn.patterns import Pattern
from session_memory.learn.retro import RepoRetro, Retro, RetroSession, Suggestion
from session_memory.learn.retro_skills import SkillRetro
from session_memory.pricing import Amount, shown
from session_memory.redact import mask_cut
from session_memory.views.figures import count, local, plural

LONGEST = 160
Text = Callable[[str], str]
# Characters with a meaning in Markdown.
_MARKS = re.compile(r"([\\`*_{}\[\]>#|!~&])")
_SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
# Characters that control a terminal, are invisible or reorder text.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def plain(text: str) -> str:
    return one_line(_CONTROL.sub(" ", mask_cut(text)), LONGEST)


def marked(text: str) -> str:
    """Escape a text from a transcript for Markdown.

    ``<`` becomes an entity: a backslash before it would become part of a URL in front of it.
    """
    return marked_whole(plain(text))


def marked_whole(text: str) -> str:
    return _MARKS.sub(r"\\\1", text).replace("<", "&lt;")


def _advised(text: str) -> str:
    """Escape an advice for Markdown, except its code spans, which quote texts safely already."""
    line, words, end = _CONTROL.sub(" ", text), [], 0
    for span in _SPAN.finditer(line):
        words += [marked_whole(line[end : span.start()]), span[0]]
        end = span.end()
    return "".join([*words, marked_whole(line[end:])])


def _code(text: str) -> str:
    return f"`{plain(text).replace('`', chr(0x2019))}`"


def period_name(retro: Retro) -> str:
    """Return the first and the last day in local time. ``retro.until`` is the midnight after the
    last day."""
    last = format_time(parse_time(retro.until) - 1)
    return f"{local(retro.since, '%Y-%m-%d')} to {local(last, '%Y-%m-%d')}"


def to_markdown(retro: Retro) -> str:
    return "\n".join(_markdown(retro)) + "\n"


def _markdown(retro: Retro) -> Iterator[str]:
    yield f"# Retrospective {period_name(retro)}"
    yield ""
    if retro.unread:
        yield f"{plural(retro.unread, 'session')} not analyzed yet: `session-memory analyze`"
        yield ""
    if not retro.repos:
        yield "No session was analyzed in this time."
    for repo in retro.repos:
        yield from _repo_markdown(repo)
    if retro.skills:
        yield "## Skills"
        yield ""
        yield from (f"- {skill_words(skill, marked)}" for skill in retro.skills)
        yield ""
    if retro.evicted:
        yield missing_skills(retro.evicted)
        yield ""


def _repo_markdown(repo: RepoRetro) -> Iterator[str]:
    yield f"## {marked(repo.repo)}"
    yield ""
    yield figures(repo)
    yield ""
    yield from _section(shipped_words(repo), [_work(work, marked, _code) for work in repo.done])
    if repo.problems:
        yield "### What cost time and money"
        yield ""
        for number, (pattern, suggestion) in enumerate(_items(repo), start=1):
            yield f"{number}. {_problem(pattern, repo.repo, marked)}"
            yield f"   {_advised(below_repo(advised(suggestion), repo.repo))}"
            yield from (f"   {_code(command)}" for command in _commands(suggestion))
        yield ""


def _items(repo: RepoRetro) -> Iterator[tuple[Pattern, Suggestion]]:
    return zip(repo.problems, repo.suggestions, strict=True)


def _commands(suggestion: Suggestion) -> Iterator[str]:
    yield from suggestion.look
    if next_command := decision_command(suggestion):
        yield next_command


def decision_command(suggestion: Suggestion) -> str:
    """Return the command that makes a lesson of a suggestion, or shows the lesson that was made of
    it; "" if the suggestion is only advice."""
    if suggestion.decided:
        return f"session-memory lessons show {lesson_id(suggestion.pattern_id)}"
    return f"session-memory lessons accept {suggestion.pattern_id}" if suggestion.is_lesson else ""


def advised(suggestion: Suggestion) -> str:
    """Return the text of a suggestion. If a person decided about it, that comes first."""
    mark = f"({suggestion.decided}) " if suggestion.decided else ""
    return f"{mark}{suggestion.text}"


def with_decisions(retro: Retro, lessons: Lessons) -> Retro:
    """Note in each suggestion what a person decided about its pattern."""
    status = {lesson.id: lesson.status for lesson in lessons.read()[0]}
    if not status:
        return retro

    def noted(one: Suggestion) -> Suggestion:
        decided = status.get(lesson_id(one.pattern_id), "")
        return msgspec.structs.replace(one, decided=decided)

    repos = (
        msgspec.structs.replace(repo, suggestions=tuple(map(noted, repo.suggestions)))
        for repo in retro.repos
    )
    return msgspec.structs.replace(retro, repos=tuple(repos))


def shipped_words(repo: RepoRetro) -> str:
    """Return the heading of the list of work, with the number of commits."""
    if not repo.commits:
        return "What was done"
    return f"What shipped: {plural(repo.commits, 'commit')}"


def _section(name: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield f"### {name}"
        yield ""
        yield from (f"- {line}" for line in lines)
        yield ""


def missing_skills(evicted: int) -> str:
    """Return a sentence which says that skill calls of evicted sessions are not counted."""
    where = plural(evicted, "evicted session")
    return f"Skill calls of {where} are not counted: their archive cannot be read."


def figures(repo: RepoRetro) -> str:
    ends = ", ".join(f"{number} {outcome}" for outcome, number in repo.outcomes.items())
    sessions = plural(repo.sessions, "session")
    below = f" and {plural(repo.subagents, 'subagent')}" if repo.subagents else ""
    ended = f" ({ends})" if ends else ""
    return f"{sessions}{below}{ended}, {count(repo.tokens)} tokens, {shown(repo.amount)}."


def _work(work: RetroSession, text: Text, code: Text) -> str:
    amount = shown(Amount(work.microdollars, work.unpriced_tokens))
    proof = f" by {work.reason}" if work.evidence else ""
    what = "; ".join(map(text, work.shipped)) or text(work.title or "(untitled)")
    how = f"{work.outcome}{proof}, {plural(work.edits, 'edit')}, {amount}"
    return f"{what}: {how}. {code(f'session-memory show {work.session_uid}')}"


def _problem(pattern: Pattern, repo: str, text: Text) -> str:
    seen = f"{pattern.times} in {plural(pattern.sessions, 'session')}"
    what = text(below_repo(pattern.detail.rstrip("."), repo))
    return f"{what}. {title(pattern)}: {seen}; {cost_words(pattern)}."


def cost_words(what: Pattern | Suggestion) -> str:
    money = f", about {shown(Amount(what.microdollars))}" if what.microdollars else ""
    return f"{count(what.tokens)} tokens {what.basis}{money}" if what.tokens else "cost unknown"


def skill_words(skill: SkillRetro, text: Text) -> str:
    rate = "no verdict" if skill.pass_rate is None else f"{skill.pass_rate:.0%} passed"
    tries = f"{skill.first_try} at the first try, {skill.recovered} after more"
    failures = "; ".join(f"{text(f.sample)} ({f.count}×)" for f in skill.failures)
    models = ", ".join(
        f"{text(model)} {one.verified} of {one.tries}" for model, one in skill.tries.items()
    )
    parts = [
        f"{text(skill.skill)}: {plural(skill.calls, 'call')}, {rate}, {tries}",
        f"Tries that a run confirmed: {models}" if models else "",
        f"Failures said: {failures}" if failures else "",
        f"{count(skill.unexplained)} failed without a reason in the log"
        if skill.unexplained
        else "",
    ]
    return ". ".join(filter(None, parts))


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color-scheme:light dark}code{font-size:.85em}li{margin:.3rem 0}"
)


def to_html(retro: Retro) -> str:
    """Return a standalone HTML page. It loads nothing and runs no scripts."""
    name = f"Retrospective {period_name(retro)}"
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{name}</title><style>{_STYLE}</style></head><body>\n<h1>{name}</h1>\n"
        + "\n".join(_html(retro))
        + "\n</body></html>\n"
    )


def _escaped(text: str) -> str:
    return escape(plain(text))


def _html_code(text: str) -> str:
    return f"<code>{escape(plain(text))}</code>"


def _html(retro: Retro) -> Iterator[str]:
    if retro.unread:
        waiting = plural(retro.unread, "session")
        yield f"<p>{waiting} not analyzed yet: <code>session-memory analyze</code></p>"
    if not retro.repos:
        yield "<p>No session was analyzed in this time.</p>"
    for repo in retro.repos:
        yield f"<h2>{_escaped(repo.repo)}</h2>\n<p>{escape(figures(repo))}</p>"
        yield from _list(shipped_words(repo), [_work(w, _escaped, _html_code) for w in repo.done])
        items = [_item(pattern, advised, repo.repo) for pattern, advised in _items(repo)]
        yield from _list("What cost time and money", items, "ol")
    yield from _list("Skills", [skill_words(skill, _escaped) for skill in retro.skills])
    if retro.evicted:
        yield f"<p>{missing_skills(retro.evicted)}</p>"


def _item(pattern: Pattern, suggestion: Suggestion, repo: str) -> str:
    commands = " ".join(map(_html_code, _commands(suggestion)))
    text = escape(_CONTROL.sub(" ", below_repo(advised(suggestion), repo)))
    return f"{_problem(pattern, repo, _escaped)}<br>{text}<br><small>{commands}</small>"


def _list(name: str, items: list[str], tag: str = "ul") -> Iterator[str]:
    if items:
        lines = "\n".join(f"<li>{item}</li>" for item in items)
        yield f"<h3>{name}</h3>\n<{tag}>\n{lines}\n</{tag}>"
