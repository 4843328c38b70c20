"""Choose the name of a session in a list. It is the first of these that exists and says something:

1. the name that a person gave it, or its title
2. the first prompt
3. the first file that was changed, else the branch
4. the first words of the agent
5. a prompt that says little, such as a slash command alone

Injected texts and notices about limits and errors are no names. A subagent whose title is only a
nickname is called by the nickname and its task. Of a Markdown document, such as a plan, only the
first heading is the name.
"""

import re
from collections.abc import Iterable

import msgspec

from session_memory.core.text import one_line
from session_memory.derive.agents import Agent, about
from session_memory.derive.title_texts import is_notice, is_weak, says_nothing
from session_memory.store import Store
from session_memory.store.digests import Digests
from session_memory.store.session_titles import MOST_BEGINNINGS, SessionTitles, TitleRow
from session_memory.views.matching import holds
from session_memory.views.noise import is_hidden_kind
from session_memory.views.paths import path_from

NO_TITLE = "(no title)"
_USUAL_BRANCHES = frozenset({"main", "master", "trunk", "develop", "HEAD"})
# Kinds of texts that have the role of the user, but that no person and no other session wrote.
_INJECTED = frozenset(
    {
        *("bash_output", "caveat", "compact_summary", "context", "hook", "interrupt"),
        *("local_command", "meta", "skill", "system", "task_notification", "turn_aborted"),
    }
)
_HEADING = re.compile(r"#{1,6} +(?P<text>.*?)(?: #{1,6} .*| -{3,}.*)?", re.DOTALL)


class _FirstRequest(msgspec.Struct):
    text: str


class _DigestPart(msgspec.Struct):
    """The one field of a digest (the result of an analysis) that can name a session.

    Listing sessions must stay quick, so the modules that make digests are not imported.
    """

    first_request: _FirstRequest | None = None


_PART_OF_DIGEST = msgspec.json.Decoder(_DigestPart)


def best_titles(store: Store, uids: Iterable[str]) -> dict[str, str]:
    """Return a name on one line for each of these sessions, by uid."""
    titles = SessionTitles(store.db)
    rows = titles.rows(uids)
    names = _names(store, titles, rows)
    return {row.uid: names[row.id] for row in rows}


def best_title(store: Store, uid: str) -> str:
    return best_titles(store, [uid]).get(uid, NO_TITLE)


def sessions_titled(store: Store, part: str) -> list[int]:
    """Return the row ids of the sessions that have ``part`` in the name that a list shows: the
    title, or what is shown in its place. Case is ignored."""
    titles = SessionTitles(store.db)
    found: list[int] = []
    unnamed: list[TitleRow] = []
    for row in titles.every():
        if _needs_name(row):
            unnamed.append(row)
        # The shown title is a part of the stored one, so most titles are compared only once.
        elif holds(row.given or row.title, part) and holds(_own_title(row), part):
            found.append(row.id)
    names = _names(store, titles, unnamed)
    return found + [row.id for row in unnamed if holds(names[row.id], part)]


def _needs_name(row: TitleRow) -> bool:
    return not row.given and (not row.title or _is_nickname(row) or says_nothing(row.title))


def _is_nickname(row: TitleRow) -> bool:
    """Whether this is a subagent with a title of one word, which says nothing about its task."""
    return row.relation == "subagent" and bool(row.title) and " " not in (row.title or "")


def _own_title(row: TitleRow) -> str:
    if row.given:
        return one_line(row.given)
    title = row.title or ""
    if says_nothing(title):
        return ""
    return title if _is_nickname(row) else _named(_agent(row), title) or title


def _agent(row: TitleRow) -> Agent:
    return about(row.uid.partition(":")[0])


def _named(agent: Agent, text: str) -> str:
    """Return ``text`` without what the agent writes before a prompt, and without heading marks."""
    if agent.preamble is not None and (before := agent.preamble.match(text)):
        text = text[before.end() :]
    heading = _HEADING.fullmatch(text)
    return heading["text"].strip() if heading else text


def _names(store: Store, titles: SessionTitles, rows: list[TitleRow]) -> dict[int, str]:
    """Return the best name of each session, by its row id."""
    names = {row.id: _own_title(row) for row in rows}
    unnamed = [row for row in rows if _needs_name(row)]
    words = _first_words(titles, unnamed)
    words |= _digested_words(store, [row for row in unnamed if row.id not in words])
    for row in rows:
        task = words.get(row.id)
        if task and not is_weak(task):
            names[row.id] = f"{row.title}: {task}" if _is_nickname(row) else task
    nameless = [row for row in rows if not names[row.id]]
    edits = titles.first_edits(row.id for row in nameless)
    for row in nameless:
        if path := edits.get(row.id):
            names[row.id] = f"changed {path_from(path, row.cwd)}"
        elif row.git_branch and row.git_branch not in _USUAL_BRANCHES:
            names[row.id] = f"on {row.git_branch}"
    silent = [key for key, name in names.items() if not name]
    answers = titles.first_answers(silent)
    names |= {key: text for key, text in answers.items() if not is_notice(text)}
    given = {row.id: row.title for row in rows}
    return {key: name or words.get(key) or given[key] or NO_TITLE for key, name in names.items()}


def _is_injected(native_kind: str) -> bool:
    return native_kind.partition("/")[2] in _INJECTED


def _digested_words(store: Store, rows: list[TitleRow]) -> dict[int, str]:
    """Return the first prompt of evicted sessions from their digests, by session id.

    The events of an evicted session are no longer in the store.
    """
    found: dict[int, str] = {}
    for row in rows:
        body = Digests(store.db).body(row.uid) if store.sessions.is_evicted(row.uid) else None
        request = None if body is None else _PART_OF_DIGEST.decode(body).first_request
        if request is not None:
            found[row.id] = _named(_agent(row), one_line(request.text))
    return found


def _first_words(titles: SessionTitles, rows: list[TitleRow]) -> dict[int, str]:
    """Return the first prompt of each session, by session id. It may be from a parent session.

    A prompt that says little is used only if none of the next prompts says more.
    """
    found: dict[int, str] = {}
    agents = {row.id: _agent(row) for row in rows}
    waiting = list(agents)
    for place in range(MOST_BEGINNINGS):
        if not waiting:
            break
        beginnings = titles.beginnings(waiting, place)
        for one in beginnings:
            agent = agents[one.session_id]
            if is_hidden_kind(agent, one.native_kind) or _is_injected(one.native_kind):
                continue
            words = _named(agent, agent.readable(one.summary).strip())
            is_better = is_weak(found.get(one.session_id, "/"))
            if words and not words.startswith("<") and is_better:
                found[one.session_id] = words
        waiting = [one.session_id for one in beginnings if is_weak(found.get(one.session_id, "/"))]
    return found
