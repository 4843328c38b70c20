"""Our figures beside those that the agents keep themselves, for the recorded samples.

    python benchmarks/cost_agents.py [DIRECTORY WITH AGENTS' HOMES]

Claude Code writes what it believes a session cost (``cost-state``), Grok what a session used
(``usage.json``), Codex what each response used (``token_usage_record``). None of the three is read
by Session Memory, so agreement means something. docs/cost.md explains the differences.
"""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from budgets import table

from session_memory.pricing import Amount, tree_amounts
from session_memory.store import Store
from session_memory.testing.collecting import collect, new_store, usage_of

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("SESSION_MEMORY_SHARED") or ROOT.parent / "shared")
AGENTS = ("claude", "codex", "grok")

Tokens = tuple[int, int, int]


@dataclass(frozen=True)
class Reported:
    """What an agent says of a session: input with cached tokens, of these read, output, cost."""

    uid: str
    tokens: Tokens
    microdollars: int | None = None


@dataclass(frozen=True)
class Compared:
    sample: str
    reported: Reported
    tokens: Tokens
    amount: Amount

    @property
    def is_equal(self) -> bool:
        same = self.reported.microdollars in (None, self.amount.microdollars)
        return same and self.tokens == self.reported.tokens


def compare(home: Path) -> Iterator[Compared]:
    """Every session of a sample of which its agent keeps figures."""
    flavor = home.parent.parent.name.partition("-")[0]
    with new_store() as store:
        collect(store, home)
        for reported in sorted(_REPORTED[flavor](home), key=lambda reported: reported.uid):
            # Claude Code's figure and Grok's are those of a session with its subagents.
            whole = flavor in ("claude", "grok")
            uids = _family(store, reported.uid) if whole else [reported.uid]
            amount = tree_amounts(store, [reported.uid])[reported.uid]
            name = f"{home.parent.parent.name}/{home.parent.name}"
            yield Compared(name, reported, _tokens(store, uids), amount)


def _family(store: Store, uid: str) -> list[str]:
    below = [each for child in store.sessions.subagents(uid) for each in _family(store, child)]
    return [uid, *below]


def _tokens(store: Store, uids: list[str]) -> Tokens:
    used = [usage for uid in uids for usage in usage_of(store, uid)]
    return (
        sum(u.input_tokens + u.cache_read_tokens + u.cache_write_tokens for u in used),
        sum(u.cache_read_tokens for u in used),
        sum(u.output_tokens for u in used),
    )


def _claude(home: Path) -> Iterator[Reported]:
    """The last word of each log; it covers what was resumed before."""
    for path in home.rglob("*.jsonl"):
        states = [line for line in _lines(path) if line.get("type") == "cost-state"]
        if states:
            used = states[-1]["modelUsage"].values()
            read = sum(each["cacheReadInputTokens"] for each in used)
            written = sum(each["cacheCreationInputTokens"] for each in used)
            given = sum(each["inputTokens"] for each in used) + read + written
            output = sum(each["outputTokens"] for each in used)
            cost = round(states[-1]["totalCostUSD"] * 1_000_000)
            yield Reported(f"claude:{path.stem}", (given, read, output), cost)


def _grok(home: Path) -> Iterator[Reported]:
    for path in home.rglob("usage.json"):
        used = json.loads(path.read_text())["session"]
        given = used["inputTokens"] + used.get("cacheCreationTokens", 0)
        tokens = (given, used["cachedReadTokens"], used["outputTokens"])
        yield Reported(f"grok:{path.parent.name}", tokens)


def _codex(home: Path) -> Iterator[Reported]:
    """Responses may be written down more than once; each counts once, for its own thread."""
    found: dict[str, dict[str, Tokens]] = {}
    for path in home.rglob("*.jsonl"):
        for line in _lines(path):
            payload = line.get("payload")
            if line.get("type") == "token_usage_record" and isinstance(payload, dict):
                used = payload["usage"]
                tokens = (
                    used["input_tokens"],
                    used["cached_input_tokens"],
                    used["output_tokens"],
                )
                found.setdefault(payload["thread_id"], {})[payload["response_id"]] = tokens
    for thread, responses in found.items():
        given, read, output = (sum(column) for column in zip(*responses.values(), strict=True))
        yield Reported(f"codex:{thread}", (given, read, output))


_REPORTED = {"claude": _claude, "grok": _grok, "codex": _codex}


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def homes(directory: Path) -> list[Path]:
    """``claude-2.1.325/basic/home``, or without the version."""
    patterns = [f"{agent}{version}/*/home" for agent in AGENTS for version in ("", "-*")]
    return sorted(home for pattern in patterns for home in directory.glob(pattern))


def rows(directory: Path) -> Iterator[tuple[str, ...]]:
    yield "sample", "session", "input, read, output", "the agent's", "cost", "the agent's", ""
    for home in homes(directory):
        for each in compare(home):
            dollars = (
                "" if each.reported.microdollars is None else f"{each.reported.microdollars:,}"
            )
            yield (
                each.sample,
                each.reported.uid.partition(":")[2][:13],
                " ".join(map(str, each.tokens)),
                " ".join(map(str, each.reported.tokens)),
                f"{each.amount.microdollars:,}" if each.amount.microdollars else "unpriced",
                dollars,
                "same" if each.is_equal else "**differs**",
            )


def main() -> None:
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED / "samples" / "agents"
    print("\n".join(table(rows(directory))))


if __name__ == "__main__":
    main()
