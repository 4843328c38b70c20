"""Find sessions like a session, or like a text.

Give the id of a session, or any text: words that name no session are taken as text. One word that
looks like an id is always taken as an id. To search for such a word as text, use --text. Sessions
are similar if they share rare words of their titles, prompts, commits, files and answers. For a
text, other forms and synonyms of its words match as well. Sessions that were not analyzed are found
by their titles only. No model is asked.

Relatives of the named session are left out: the sessions that it came from, its own subagents and
forks, and those of the sessions that it came from.
"""

import re
import shlex
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import limit_option, make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.lesson_options import remark_unread
from session_memory.cli.kit.output import (
    print_json,
    print_lines,
    remark,
)
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.web_page import remark_answer, remark_page

if TYPE_CHECKING:
    from session_memory.store import Store

# An agent's name and an id, or hexadecimal digits, at least one of which is no letter.
_ID = re.compile(r"[a-z][a-z0-9_]*:\S+|(?=\S*\d)[0-9a-f]{4,}(-[0-9a-f]*)*")


@make_command(
    examples=(
        ("similar 5b0c6a1e", "sessions like this one"),
        ("similar flaky login test times out", "sessions about such a thing"),
        ("similar --text 5b0c6a1e", "this word as text, not as the id of a session"),
        ("similar 5b0c6a1e --json", "with the words and files in common"),
    ),
    json_shape='{"words": [WORD, …], "sessions": [{"session_uid", "title", "likeness", "words",'
    ' "files"}, …]}; "likeness" is 0 to 1; the words and files of a session are those in common.'
    ' "evicted" is the number of evicted sessions (their logs are in the archive) that were'
    " compared by their titles only, if any; then the exit status is 3.",
)
@click.argument("words", metavar="UID | TEXT...", nargs=-1, shell_complete=complete_uid)
@click.option("--text", metavar="TEXT", help="Take this as text, also if it names a session.")
@limit_option(10)
@click.pass_obj
def command(settings: Settings, words: tuple[str, ...], text: str | None, limit: int) -> None:
    from session_memory.cli.kit.indexing import make_index_whole
    from session_memory.cli.lines.retention import end_incomplete
    from session_memory.cli.lines.similar import similar_lines
    from session_memory.core.errors import UnknownSession
    from session_memory.views.session_labels import session_labels

    if bool(words) == (text is not None):
        raise click.UsageError("give a session, or a text")
    with settings.memory() as memory:
        session = None
        if text is None and _is_session(memory.store, words):
            (session,) = words
        elif text is None:
            text = " ".join(words)
        make_index_whole(settings, memory.store)
        try:
            similar = memory.similar(session, text=text, limit=limit)
        except UnknownSession as error:
            again = f"session-memory similar --text {shlex.quote(session or '')}"
            error.hint = f"List sessions: session-memory sessions. As a text: {again}"
            raise
        store = memory.store
        uid = None if session is None else memory.session(session).uid
        labels = session_labels(store, [one.session.uid for one in similar.found])
        remark_unread(settings, memory.store)
    if settings.as_json:
        print_json(similar.to_dict())
        end_incomplete(settings, similar.evicted)
        return
    print_lines(similar_lines(similar, labels))
    if not similar.found:
        remark(settings, "No similar session.")
    if uid is None:
        remark_answer(settings, store, "/sessions", text or "")
    else:
        remark_page(settings, store, uid, "like")
    if similar.evicted:
        # Importing this takes long, and nearly no store needs it.
        from session_memory.views.evicted import partly_sentence

        sentence = partly_sentence(similar.evicted, "only the titles were compared")
        end_incomplete(settings, similar.evicted, sentence)


def _is_session(store: "Store", words: tuple[str, ...]) -> bool:
    """Whether the words name a session, or look like the id of one that does not exist."""
    from session_memory.store.session_ids import SessionIds
    from session_memory.views.lookup import names_session

    if len(words) != 1:
        return False
    (word,) = words
    if _ID.fullmatch(word):
        return True
    # Every uid begins with its agent's name, but a user who types only that name means the word.
    is_agent = any(flavor.startswith(word) for flavor in SessionIds(store.db).flavors())
    return not is_agent and names_session(store, word)
