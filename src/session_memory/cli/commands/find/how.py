"""Find sessions that did a task, and how they did it.

Ask in your own words: other forms of a word and its synonyms match as well. Sessions that fit best
come first, whether they succeeded or not. Each answer says which words matched and where, what was
done, and how it ended. Sessions that were not analyzed are found by their titles only. No model is
asked.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import limit_option, make_command
from session_memory.cli.kit.completion import complete_facet
from session_memory.cli.kit.lesson_options import print_learned, remark_unread
from session_memory.cli.kit.output import print_lines, remark, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.web_page import remark_answer
from session_memory.cli.lines.look_line import look_line
from session_memory.core.text import below_repo
from session_memory.render.text import cut, cut_middle, safe

if TYPE_CHECKING:
    from session_memory.views.how import TaskSession

WIDE = 100
MOST_WORDS = 5


@make_command(
    examples=(
        ("how 'add a webhook endpoint'", "sessions that did it, best ones first"),
        ("how migrate the database --repo billing", "in one repository"),
        ("how 'release a version' --json", "for an agent"),
    ),
    json_shape='{"task", "sessions": [{"session_uid", "name", "flavor", "repo", "title",'
    ' "ended_at", "outcome", "fit", "why", "words": [{"asked", "found", "fields"}, …], "excerpt":'
    ' {"field", "text"}, "commands": [TEXT, …], "files": [PATH, …], "commits": [TEXT, …], "answer",'
    ' "microdollars", "unpriced_tokens", "is_analyzed"}, …]}; "fit" is 0 to 1; "ended_at" is in'
    ' milliseconds since 1970. "evicted"'
    " counts evicted sessions (their logs are in the archive) of which only the titles were"
    " searched; then the exit status is 3.",
)
@click.argument("words", nargs=-1, required=True, metavar="TASK")
@click.option(
    "--repo",
    metavar="NAME",
    help="Only sessions of the repository with exactly this name.",
    shell_complete=complete_facet("repo"),
)
@limit_option(5)
@click.pass_obj
def command(settings: Settings, words: tuple[str, ...], repo: str | None, limit: int) -> None:
    from session_memory.cli.kit.indexing import make_index_whole
    from session_memory.cli.lines.retention import end_incomplete
    from session_memory.core.time import now_ms
    from session_memory.views.session_labels import session_labels

    with settings.memory() as memory:
        store = memory.store
        make_index_whole(settings, store)
        done = memory.how(" ".join(words), repo=repo, limit=limit)
        labels = session_labels(memory.store, {did.session_uid for did in done.sessions})
        remark_unread(settings, memory.store)
    if settings.as_json:
        print_learned(done.to_dict())
        end_incomplete(settings, done.evicted)
        return
    columns = terminal_width() or WIDE
    for place, did in enumerate(done.sessions):
        print_lines([""] if place else [])
        print_lines(_lines(did, labels.title(did.session_uid), columns, now_ms()))
    if not done.sessions:
        remark(settings, "No session matches this task.")
    remark_answer(settings, store, "/sessions", " ".join(words))
    if done.evicted:
        # Importing this takes long, and nearly no store needs it.
        from session_memory.views.evicted import partly_sentence

        sentence = partly_sentence(done.evicted, "only the titles were searched")
        end_incomplete(settings, done.evicted, sentence)


def _lines(did: "TaskSession", title: str, columns: int, now: int) -> Iterator[str]:
    from session_memory.pricing import shown
    from session_memory.views.figures import age

    yield click.style(cut(safe(title or did.title or "(no title)"), columns), bold=True)
    facts = [did.flavor, did.repo or "", age(did.ended_at, now)]
    if did.microdollars or did.unpriced_tokens:
        facts.append(shown(did.amount))
    yield look_line(did.name, [did.outcome, *facts], columns)
    files = _shown_files(did)
    excerpt = [did.excerpt.text] if did.excerpt else []
    for name, texts in (
        ("matched", [_matched(did)]),
        (f"{did.excerpt.field}:" if did.excerpt else "", excerpt),
        ("ran", did.commands),
        ("edited", files),
        ("committed", did.commits),
        ("ended", [did.answer] if did.answer else []),
    ):
        for place, text in enumerate(texts):
            shorter = cut_middle if name == "edited" else cut
            yield f"  {'' if place else name:<10}{shorter(safe(text), columns - 12)}"


def _shown_files(did: "TaskSession") -> list[str]:
    """Return the edited files inside the repository; if there are none, those outside."""
    files = [below_repo(path, did.repo) for path in did.files]
    return [path for path in files if not path.startswith(("/", "~"))] or files


def _matched(did: "TaskSession") -> str:
    """Return the words that matched, and where: ``title: retry, upload · file: form``."""
    places: dict[str, list[str]] = {}
    for word in did.words[:MOST_WORDS]:
        shown = word.found if word.found == word.asked else f"{word.found} (for {word.asked})"
        places.setdefault(word.fields[0], []).append(shown)
    from session_memory.views.matched_words import joined_pairs

    return " · ".join(
        f"{place}: {', '.join(joined)}"
        for place, words in places.items()
        if (joined := joined_pairs(words))
    )
