"""What to call a session in a list: its title, else the best name there is.

The best name is the first prompt, else a slash command, else the first file that was changed, else
the first words of the agent. A subagent that has only a nickname is called by its task, too.
Of a Markdown document, such as a plan, only the first heading is the name.
"""

import re
from collections.abc import Iterable

from session_memory.derive.agents import Agent, about
from session_memory.store import Store
from session_memory.store.session_titles import SessionTitles, TitleRow
from session_memory.views.noise import is_hidden_kind
from session_memory.views.paths import path_from

NO_TITLE = "(no title)"
_HEADING = re.compile(r"#{1,6} +(?P<text>.*?)(?: #{1,6} .*| -{3,}.*)?", re.DOTALL)


def best_titles(store: Store, uids: Iterable[str]) -> dict[str, str]:
    """A name for each of these sessions, on one line."""
    titles = SessionTitles(store.db)
    return {row.uid: _best(titles, row) for row in titles.rows(uids)}


def best_title(store: Store, uid: str) -> str:
    return best_titles(store, [uid]).get(uid, NO_TITLE)


def _best(titles: SessionTitles, row: TitleRow) -> str:
    if row.relation == "subagent" and row.title and " " not in row.title:
        # One word is a nickname, which says nothing about the task.
        task = _first_words(titles, row)
        return f"{row.title}: {task}" if task else row.title
    own = _named(about(row.uid.partition(":")[0]), row.title or "") or row.title
    return own or _first_words(titles, row) or _first_work(titles, row) or NO_TITLE


def _named(agent: Agent, text: str) -> str:
    """``text`` without what the agent writes before a prompt, and without Markdown."""
    if agent.preamble is not None and (before := agent.preamble.match(text)):
        text = text[before.end() :]
    heading = _HEADING.fullmatch(text)
    return heading["text"].strip() if heading else text


def _first_words(titles: SessionTitles, row: TitleRow) -> str:
    """The first text of a person, or of the session that started this one."""
    agent = about(row.uid.partition(":")[0])
    for native_kind, summary in titles.beginnings(row.id):
        if not is_hidden_kind(agent, native_kind):
            words = _named(agent, agent.readable(summary).strip())
            if words and not words.startswith("<"):
                return words
    return ""


def _first_work(titles: SessionTitles, row: TitleRow) -> str:
    if path := titles.first_edit(row.id):
        return f"changed {path_from(path, row.cwd)}"
    return titles.first_answer(row.id) or ""
