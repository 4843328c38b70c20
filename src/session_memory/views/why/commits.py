"""Find the sessions in which a commit was made, by what git printed in them."""

from session_memory.derive.bodies import Bodies
from session_memory.derive.detecting import logged_commits
from session_memory.store import Store
from session_memory.store.hits import Hits
from session_memory.store.index import OUTPUT, event_of
from session_memory.store.word_query import QueryWord, WordQuery

SHORT = 7
MOST_OUTPUTS = 200


def sessions_that_made(store: Store, sha: str) -> list[str]:
    """Return the sessions in which git reported that it made this commit, the oldest first."""
    query = WordQuery(((QueryWord(sha[:SHORT], is_prefix=True),),))
    docs = store.index.find(query, text_class=OUTPUT, limit=MOST_OUTPUTS)
    hits, bodies = Hits(store.db, store.names), Bodies(store)
    found = sorted(hits.of(list(map(event_of, docs))).values(), key=lambda hit: hit.ts or 0)
    made = [
        hit.session_id
        for hit in found
        if any(
            sha.startswith(short)
            for short, _ in logged_commits(
                bodies.at(hit.source, hit.place, hit.length, hit.block).text
            )
        )
    ]
    names = hits.sessions_of(list(dict.fromkeys(made)))
    return [names[one].uid for one in dict.fromkeys(made) if one in names]
