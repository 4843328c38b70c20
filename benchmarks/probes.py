"""Questions to a store that no command answers; each runs in a process of its own.

    python probes.py tokens STORE           tokens per day and model, as truth.json has them
    python probes.py payload STORE COUNT    seconds to fetch the body of each of COUNT events

Days are days in UTC.
"""

import json
import random
import sys
import time
from collections import defaultdict

from session_memory import open_store
from session_memory.store import Store
from session_memory.views.payloads import Payloads


def tokens(store: Store) -> dict[str, dict[str, int]]:
    days: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for session in store.sessions.every():
        row = store.sessions.row(session.session_uid)
        for usage in store.usage.of(row.id, row.uid) if row else ():
            day = days[f"{(usage.ts or '')[:10]} {usage.model}"]
            day["messages"] += 1
            day["input"] += usage.input_tokens
            day["output"] += usage.output_tokens
            day["cache_creation"] += usage.cache_write_tokens
            day["cache_read"] += usage.cache_read_tokens
            day["cache_creation_1h"] += usage.cache_write_1h_tokens
    return days


def payload(store: Store, count: int) -> list[float]:
    """Events anywhere in the store, each asked for alone: nothing unpacked before helps."""
    chance = random.Random(20261115)
    uids = store.sessions.uids()
    seconds = []
    for uid in chance.choices(uids, k=count):
        row = store.sessions.row(uid)
        events = store.events.of(row.id, uid) if row else []
        if not events:
            continue
        event = chance.choice(events)
        started = time.perf_counter()
        found = Payloads(store, uid).of(event)
        seconds.append(time.perf_counter() - started)
        if found.record is None:
            raise SystemExit(f"no payload for {uid} {event.event_uid}")
    return seconds


def main() -> None:
    question, where, *rest = sys.argv[1:]
    with open_store(where, create=False) as store:
        answer = tokens(store) if question == "tokens" else payload(store, int(rest[0]))
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
