"""Does memory help? Real sessions are replayed, and memory is asked at each moment of need.

    python benchmarks/remember.py                      the development set of ../shared/samples
    python benchmarks/remember.py --logs HOME --store FILE   other logs, kept in FILE
    python benchmarks/remember.py --only fix --misses        and what was not useful

No model and no clock: the logs are the truth, random choices have a fixed seed, and memory never
holds the asked session, its family or anything later. Only the column ``ms`` differs between runs.
"""

import argparse
import json
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import remember_fix
import remember_injections
import remember_questions
import remember_recall
from recall import SAMPLES
from remember_replay import Past, Replay
from remember_tables import Table

from session_memory import Memory, open_store
from session_memory.testing.collecting import collect

PARTS = ("fix", "recall", "questions", "injections")
# Ages in answers are counted from here, so that the number of tokens does not depend on today.
NOW = 1_800_000_000_000


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--logs", type=Path, default=SAMPLES / "real.tar.xz", metavar="HOME")
    parser.add_argument("--store", type=Path, metavar="FILE", help="make it once, use it again")
    parser.add_argument("--only", action="append", choices=PARTS, help="only this part")
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def whole(logs: Path, store: Path) -> Memory:
    """The store with every log in it, analyzed by the code as it is now."""
    if not store.exists():
        with open_store(store, durability="normal") as made:
            collect(made, logs)
    memory = Memory(store)
    memory.analyze()
    return memory


def measured(logs: Path, store: Path, scratch: Path, only: list[str]) -> list[Table]:
    with whole(logs, store) as memory:
        past = Past(memory)
        replay = Replay(past, logs, scratch)
        errors: list[remember_fix.AskedError] = []
        prompts: list[remember_recall.AskedPrompt] = []
        calls: list[remember_injections.FailedCall] = []
        hooked: list[remember_injections.HookedPrompt] = []
        for session in replay.moments() if only != ["questions"] else ():
            if "fix" in only:
                errors += remember_fix.errors_asked(past, replay, session, NOW)
            asked = [*remember_recall.prompts_asked(replay, session)]
            prompts += asked
            if "injections" in only:
                home = scratch / "hooks"
                hooked += [remember_injections.prompt_hooked(replay, one, home) for one in asked]
                calls += remember_injections.calls_asked(past, replay, session, home)
        made: dict[str, Callable[[], Table]] = {
            "fix": lambda: remember_fix.table(errors),
            "recall": lambda: remember_recall.table(prompts),
            "questions": lambda: remember_questions.table(past, NOW),
            "injections": lambda: remember_injections.table(calls, hooked),
        }
        return [made[part]() for part in PARTS if part in only]


def main() -> int:
    options = arguments()
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        logs = options.logs
        if logs.is_file():
            with tarfile.open(logs) as packed:
                packed.extractall(scratch / "logs", filter="data")
            logs = scratch / "logs"
        store = options.store or scratch / "whole.db"
        tables = measured(logs, store, scratch / "replay", options.only or list(PARTS))
    if options.json:
        print(json.dumps([msgspec.to_builtins(one) for one in tables], ensure_ascii=False))
        return 0
    for table in tables:
        print(table, end="\n\n")
        if options.misses:
            print("\n".join(table.misses))
    return 0


if __name__ == "__main__":
    sys.exit(main())
