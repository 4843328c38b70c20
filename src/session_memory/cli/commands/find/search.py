"""Find sessions by their messages, calls and outputs.

All words must be in one title or one event: a message, a thought, a summary or note of the agent, a
call, or the output of a tool. Case and accents do not matter. "Quotes" make a phrase. -word
excludes a word, and -repo:NAME excludes what the filter repo:NAME matches. Narrow the search with
options, or with filters among the words (flavor: repo: model: kind: tool: file: outcome: branch:
session: class: since: until:). If a filter is given more than once, one of its values must match.
cmd:word finds the word in calls only.

Hits are grouped by session, best first: titles and messages before summaries, then calls, then
outputs, and newer before older. With --by session, whole sessions are ranked instead. Then the
words may be in different messages of a session, and other forms and synonyms of them match as well.

Of evicted sessions, whose logs are in the archive, only the titles are searched, or with --by
session the titles and what the analysis kept. If sessions were searched by their titles only, the
exit status is 3.
"""

from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.command import limit_option, make_command
from session_memory.cli.kit.completion import complete_facet, complete_uid
from session_memory.cli.kit.output import print_json, print_lines, remark, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.web_page import remark_answer
from session_memory.cli.kit.when import when_options

if TYPE_CHECKING:
    from session_memory.views.search import Results

CLASSES = ("title", "message", "summary", "call", "output")


@make_command(
    examples=(
        ("search webhook signature", "events that have both words"),
        ("search '\"rate limit\" -test'", "a phrase, but not with the word test"),
        ("search src/auth/tokens.py:42", "a path with a line number"),
        ("search 'sign*' '*Token*'", "the beginning of a word, any part of a word"),
        ("search timeout repo:webshop since:30d tool:Bash", "with filters among the words"),
        ("search --kind error --since today", "no words: all events of a kind"),
        ("search --by session retry failed uploads", "sessions about it, best ones first"),
        ("search deadlock --limit 0 --json", "all hits, for a script"),
    ),
    json_shape='{"hits": [{"session_uid", "event_uid", "seq", "score", "class", "why", "snippet",'
    ' "marks"}, …], "total", "total_exact"}; a title has no event_uid and no seq; "marks"'
    ' are the places in the snippet that match. "expanded": for a word that occurs nowhere, and for'
    ' a part of a word, the words searched instead; "did_you_mean": similar words; "behind": the'
    " number of all sessions, if the index is not complete and some may be missing;"
    ' "evicted": how many sessions were searched by their titles only. With --by session, the JSON'
    " is that of the command similar.",
)
@click.argument("words", nargs=-1, metavar="[WORDS]...")
@click.option(
    "--flavor",
    shell_complete=complete_facet("flavor"),
    multiple=True,
    metavar="NAME",
    help="Only sessions of this agent; wildcards: * and ?.",
)
@click.option(
    "--repo",
    multiple=True,
    metavar="NAME",
    help="Only sessions of this repository; wildcards: * and ?.",
    shell_complete=complete_facet("repo"),
)
@click.option(
    "--model",
    shell_complete=complete_facet("model"),
    multiple=True,
    metavar="TEXT",
    help="Only models whose name contains this; wildcards: * and ?.",
)
@click.option("--kind", multiple=True, metavar="KIND", help="Only events of this kind.")
@click.option(
    "--tool",
    multiple=True,
    metavar="NAME",
    help="Only calls of this tool, and their outputs; wildcards: * and ?.",
)
@click.option("--file", multiple=True, metavar="PATH", help="Only files whose path contains this.")
@click.option(
    "--outcome", multiple=True, metavar="OUTCOME", help="Only sessions with this outcome."
)
@click.option(
    "--branch",
    multiple=True,
    metavar="NAME",
    help="Only sessions on this git branch; wildcards: * and ?.",
)
@click.option(
    "--session",
    multiple=True,
    metavar="UID",
    help="Only in this session.",
    shell_complete=complete_uid,
)
@click.option(
    *("--class", "where"),
    multiple=True,
    type=click.Choice(CLASSES),
    help="Only in titles, messages, summaries, calls or outputs.",
)
@click.option(
    "--by",
    type=click.Choice(("event", "session")),
    default="event",
    show_default=True,
    help="Rank events, or whole sessions. For sessions, leave out --kind, --tool, --file, --class"
    " and --session.",
)
@when_options
@limit_option(20)
@click.pass_obj
def command(
    settings: Settings, /, words: tuple[str, ...], by: str, limit: int, **given: Any
) -> None:
    from session_memory.cli.kit.indexing import make_index_whole
    from session_memory.cli.lines.retention import end_incomplete
    from session_memory.cli.lines.search_hits import found_lines
    from session_memory.core.time import now_ms
    from session_memory.views.evicted import partly_sentence

    text = " ".join(words).strip()
    if not text and not any(given.values()):
        raise click.UsageError("give words to search for, or a filter")
    if by == "session":
        _search_sessions(settings, text, limit, given)
        return
    with settings.memory() as memory:
        store = memory.store
        make_index_whole(settings, store)
        results = memory.search(text, limit=limit, **given)
        is_empty = not store.sessions.count()
    if settings.as_json:
        print_json(results.to_dict())
        end_incomplete(settings, results.evicted)
        return
    print_lines(found_lines(results, terminal_width(), now_ms()))
    for line in _remarks(results, is_empty=is_empty):
        remark(settings, line)
    if text and not any(given.values()):
        remark_answer(settings, store, "/sessions", text)
    sentence = partly_sentence(results.evicted, "only the titles were searched")
    end_incomplete(settings, results.evicted, sentence)


_OF_EVENTS = {"kind": "--kind", "tool": "--tool", "file": "--file", "where": "--class"}


def _search_sessions(settings: Settings, text: str, limit: int, given: dict[str, Any]) -> None:
    from session_memory.cli.kit.lesson_options import remark_unread
    from session_memory.cli.lines.retention import end_incomplete
    from session_memory.cli.lines.similar import similar_lines
    from session_memory.views.evicted import partly_sentence
    from session_memory.views.session_labels import session_labels

    if not text:
        raise click.UsageError("give words to search for")
    wrong = [option for name, option in _OF_EVENTS.items() if given.pop(name)]
    if given.pop("session"):
        wrong.append("--session")
    if wrong:
        raise click.UsageError(f"{wrong[0]} is for events; leave it out with --by session")
    with settings.memory() as memory:
        found = memory.search_sessions(text, limit=limit, **given)
        labels = session_labels(memory.store, [one.session.uid for one in found.found])
        remark_unread(settings, memory.store)
    if settings.as_json:
        print_json(found.to_dict())
        end_incomplete(settings, found.evicted)
        return
    print_lines(similar_lines(found, labels))
    if not found.found:
        remark(settings, "Nothing found.")
    sentence = partly_sentence(found.evicted, "only the titles were compared")
    end_incomplete(settings, found.evicted, sentence)


_NOT_ALL_COMPARED = (
    "Nothing found in the newest texts that have these words. --limit 0 compares all of them."
)


def _nothing_like(name: str, value: str, near: list[str]) -> str:
    known = f" Known: {', '.join(near)}." if near else ""
    return f"No session or event has {name} {value}.{known}"


def _remarks(results: "Results", *, is_empty: bool) -> list[str]:
    remarks: list[str] = []
    if is_empty:
        return ["No sessions yet. Collect them: session-memory sync"]
    for word, words in results.expanded.items():
        if words and results.total and "*" not in word:
            some = ", ".join(words[:5]) + (", …" if len(words) > 5 else "")
            remarks.append(f"No event has the word {word}; searched for {some}")
    if not results.total:
        remarks.append("Nothing found." if results.total_exact else _NOT_ALL_COMPARED)
        remarks += [_nothing_like(*filtered) for filtered in results.unmatched]
        remarks += [f"Did you mean {', '.join(near)}?" for near in results.meant.values()]
    elif len(results.hits) < results.total or not results.total_exact:
        more = "" if results.total_exact else "at least "
        remarks.append(
            f"{len(results.hits):,} of {more}{results.total:,} hits; --limit 0 shows all."
        )
    if results.behind:
        some = f"Some of {results.behind:,} sessions"
        remarks.append(f"{some} are not in the index: session-memory store reindex")
    return remarks
