"""Every usage record of a store priced by genai-prices, and how many we price otherwise.

    python cost_oracle.py STORE

Prints ``{"records", "priced", "differing"}``; what the oracle does not know must be unpriced here.
"""

import json
import sys
from pathlib import Path

from session_memory import open_store
from session_memory.pricing.amounts import charges
from session_memory.store import Store

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "pricing"))
import oracle


def compared(store: Store) -> dict[str, int]:
    ours = {charge.key: charge for charge in charges(store, ("session", "usage", "seq"))}
    records = priced = differing = 0
    for uid in store.sessions.uids():
        row = store.sessions.row(uid)
        for usage in store.usage.of(row.id, uid) if row else ():
            charge = ours.pop((uid, usage.usage_id, usage.seq))
            records += 1
            try:
                expected = oracle.microdollars(usage)
            except LookupError:
                differing += charge.rate.price is not None and charge.rate.rule == "by its name"
                continue
            priced += 1
            differing += charge.microdollars != expected or charge.rate.price is None
    return {"records": records, "priced": priced, "differing": differing + len(ours)}


if __name__ == "__main__":
    with open_store(sys.argv[1], create=False) as opened:
        print(json.dumps(compared(opened)))
