"""``why`` on generated repositories, where it is known who wrote each line.

    python benchmarks/why.py                  20 repositories
    python benchmarks/why.py --repositories 5 --seed 7
    python benchmarks/why.py --show           prints the lines that were wrong

Sessions and a person write, edit, move, reformat, revert, squash and rebase in real git
repositories. Then every line of every file is asked for.
"""

import argparse
import random
import tempfile
from collections import Counter
from pathlib import Path

from session_memory import Memory
from session_memory.testing.generated_history import GeneratedRepository
from session_memory.views.why.answer import why_lines

_FAULTS = ("missed", "wrong", "given to a session")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repositories", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shell", type=float, default=0.3, help="share of shell commands")
    parser.add_argument("--noted", type=float, default=0.5, help="share of results with details")
    parser.add_argument("--tags", type=int, default=10_000, help="few: lines of several authors")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    total: Counter[str] = Counter()
    for number in range(options.repositories):
        with tempfile.TemporaryDirectory(prefix="why-") as directory:
            chance = random.Random(options.seed * 1000 + number)
            made = GeneratedRepository(
                Path(directory),
                chance,
                shell=options.shell,
                noted=options.noted,
                tags=options.tags,
            )
            made.live(steps=40)
            total += _checked(made, show=options.show)
    agents = total["right"] + total["missed"] + total["wrong"]
    people = total["no session"] + total["given to a session"]
    print(
        f"lines of agents: {agents:,}; right {total['right'] / agents:.1%}, missed"
        f" {total['missed'] / agents:.1%}, another session {total['wrong'] / agents:.1%}"
    )
    print(
        f"lines of people: {people:,}; no session {total['no session'] / people:.1%}, given to a"
        f" session {total['given to a session'] / people:.1%}"
    )
    print(f"called certain: {total['certain']:,}")
    print(f"wrong and called certain: {total['wrong and called certain']}")


def _checked(made: GeneratedRepository, *, show: bool) -> Counter[str]:
    counted: Counter[str] = Counter()
    with Memory(made.directory / "memory.db") as memory:
        memory.sync(roots=[made.home])
        for path, truth in made.truth().items():
            found = why_lines(memory.store, made.root / path).lines
            for line, author in zip(found, truth, strict=True):
                word = _judged(line.session_uid, author)
                is_silent = word in ("wrong", "given to a session") and line.certainty == "certain"
                counted["wrong and called certain"] += is_silent
                counted[word] += bool(line.text.strip())
                counted["certain"] += bool(line.text.strip()) and line.certainty == "certain"
                if show and (is_silent or (word in _FAULTS and line.text.strip())):
                    sure = "certain" if is_silent else ""
                    print(
                        f"{sure:>8} {word:>20} {path}:{line.number} {author} {line.session_uid}"
                        f" {line.text!r}"
                    )
    return counted


def _judged(found: str | None, author: str | None) -> str:
    if author is None:
        return "no session" if found is None else "given to a session"
    return "missed" if found is None else "right" if found == author else "wrong"


if __name__ == "__main__":
    main()
