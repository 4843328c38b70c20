"""Find sessions by what was said, called and printed.

All words have to be in one event: a message, a thought, a tool's call or its output. Case and
accents do not matter. Words may be one argument or several; "quotes" inside the question make a
phrase; before a first -word put --. Narrow it down with options, or with flavor: repo: model:
kind: tool: file: outcome: branch: session: class: cmd: since: until: in the question itself.

Hits are grouped by session, the best first: titles and messages before calls, calls before
what tools printed, and of equals the newer one.
"""

from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.command import limit_option, make_command
from session_memory.cli.kit.completion import complete_facet, complete_uid
from session_memory.cli.kit.output import print_json, print_lines, remark, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.when import when_options
from session_memory.views.figures import plural

if TYPE_CHECKING:
    from session_memory.views.search import Results

CLASSES = ("title", "message", "summary", "call", "output")


@make_command(
    examples=(
        ("search webhook signature", "events that have both words"),
        ("search '\"rate limit\" -test'", "two words side by side, a third one not there"),
        ("search src/auth/tokens.py:42", "a path as it stands"),
        ("search 'sign*' '*Token*'", "the beginning of a word, and any part of one"),
        ("search timeout repo:webshop since:30d tool:Bash", "narrowed down, in the question"),
        ("search --kind error --since today", "without words: by what events are"),
        ("search deadlock --limit 0 --json", "all of it, for a script"),
    ),
    json_shape='{"hits": [{"session_uid", "event_uid", "seq", "score", "class", "why", "snippet",'
    ' "marks"}, …], "total", "total_exact"}; a title has no event_uid and no seq. "expanded" names'
    ' the words that were taken for one nobody uses, "did_you_mean" words like those, "behind" the'
    ' sessions that a reader could not put into the index, "evicted" those of which only the titles'
    " were searched.",
)
@click.argument("words", nargs=-1, metavar="[WORDS]...")
@click.option("--flavor", multiple=True, metavar="NAME", help="Only this agent.")
@click.option(
    "--repo",
    multiple=True,
    metavar="NAME",
    help="Only this repository; * and ? match.",
    shell_complete=complete_facet("repo"),
)
@click.option("--model", multiple=True, metavar="TEXT", help="Models with this in them.")
@click.option("--kind", multiple=True, metavar="KIND", help="Only events of this kind.")
@click.option("--tool", multiple=True, metavar="NAME", help="Only calls of this tool.")
@click.option("--file", multiple=True, metavar="PATH", help="Files with this in them.")
@click.option("--outcome", multiple=True, metavar="OUTCOME", help="How sessions ended.")
@click.option("--branch", multiple=True, metavar="NAME", help="Only this git branch.")
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
    help="Only in titles, messages, summaries, calls or what tools printed.",
)
@when_options
@limit_option(20)
@click.pass_obj
def command(settings: Settings, /, words: tuple[str, ...], limit: int, **given: Any) -> None:
    from session_memory.cli.lines.indexing import make_index_whole
    from session_memory.cli.lines.search_hits import found_lines
    from session_memory.core.time import now_ms

    text = " ".join(words).strip()
    if not text and not any(given.values()):
        raise click.UsageError("Say what to look for: words, or an option that narrows it down.")
    with settings.memory() as memory:
        make_index_whole(settings, memory.store)
        results = memory.search(text, limit=limit, **given)
        is_empty = not memory.store.sessions.count()
    if settings.as_json:
        print_json(results.to_dict())
        return
    print_lines(found_lines(results, terminal_width(), now_ms()))
    for line in _remarks(results, is_empty=is_empty):
        remark(settings, line)


def _nothing_like(name: str, value: str, near: list[str]) -> str:
    meant = f" There is {', '.join(near)}." if near else ""
    return f"No session or event has {name} {value}.{meant}"


def _remarks(results: "Results", *, is_empty: bool) -> list[str]:
    said: list[str] = []
    if is_empty:
        return ["No sessions yet. Collect them: session-memory sync"]
    for word, words in results.expanded.items():
        if words and results.total and "*" not in word:
            some = ", ".join(words[:5]) + (", …" if len(words) > 5 else "")
            said.append(f"Nothing has {word} as a word of its own; looked for {some}")
    if not results.total:
        said.append("Nothing found.")
        said += [_nothing_like(*told) for told in results.unmatched]
        said += [f"Did you mean {', '.join(near)}?" for near in results.meant.values()]
    elif len(results.hits) < results.total or not results.total_exact:
        more = "" if results.total_exact else "at least "
        said.append(f"{len(results.hits):,} of {more}{results.total:,} hits; --limit 0 shows all.")
    if results.behind:
        said.append(
            f"The index is not whole: {results.behind:,} sessions. session-memory store reindex"
        )
    if results.evicted:
        many = plural(results.evicted, "evicted session")
        said.append(f"Of {many} only the titles were searched: session-memory restore")
    return said
