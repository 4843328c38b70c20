"""Measures the budgets: one command, everything in fresh processes, ratios within one run.

    make bench
    make bench BENCH_ARGS=--write                             into docs/performance.md
    make bench BENCH_ARGS="--sessions 150 --mb 30 --times 1"  a quick look
    make bench BENCH_ARGS="--most-mb 5000"                    growth up to 5 GB of logs, with plots

The floors (what it costs to do next to nothing with the same logs) run before, between and after,
and their median counts, so that a busy machine slows both sides of a ratio. Absolute times are
the best or the median of several runs. Nothing here is a test.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import agentsview
import any_size
import learning
import live
import measurements as of
import searching
from corpus import OneLog, find_corpus
from postgres import measure_postgres
from processes import Bench, Failed
from report import MB, PAGE, as_json, report, write_page

SESSIONS, MEGABYTES, TIMES = 1500, 300, 3


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", type=Path, metavar="HOME", help="a generated corpus")
    parser.add_argument(
        "--sessions", type=int, default=SESSIONS, help="to generate one (%(default)s)"
    )
    parser.add_argument("--mb", type=float, default=MEGABYTES, help="to generate one (%(default)s)")
    parser.add_argument("--times", type=int, default=TIMES, help="first syncs (%(default)s)")
    peers = Path(os.environ.get("SESSION_MEMORY_PEERS", "peers"))
    parser.add_argument(
        "--peers", type=Path, default=peers, metavar="DIR", help="other session stores"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--most-mb", type=int, default=0, help="growth up to so many MB")
    parser.add_argument("--skip-agentsview", action="store_true", help="do not measure the peer")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    return parser.parse_args()


def command_line(options: argparse.Namespace) -> str:
    """The command to type for the same figures; where things lie on this machine is left out."""
    words = []
    if options.corpus:
        words.append("--corpus HOME")
    elif (options.sessions, options.mb) != (SESSIONS, MEGABYTES):
        words.append(f"--sessions {options.sessions} --mb {options.mb:g}")
    if options.times != TIMES:
        words.append(f"--times {options.times}")
    words += ["--skip-agentsview"] * options.skip_agentsview
    return f'make bench BENCH_ARGS="{" ".join(words)}"' if words else "make bench"


def measure_all(
    bench: Bench, options: argparse.Namespace
) -> tuple[of.Measurements, agentsview.Peer]:
    of.say("the corpus")
    given = options.corpus.resolve() if options.corpus else None
    corpus = find_corpus(bench, given, options.sessions, options.mb)
    if options.write and not corpus.is_full:
        raise Failed(
            f"a corpus of {corpus.bytes / MB:.0f} MB is too small for the page\n"
            "hint: leave out --write, or --sessions and --mb"
        )
    m = of.Measurements(bench, corpus)
    of.measure_real_logs(m)
    of.measure_first_sync(m, options.times)
    of.measure_repeats(m)
    of.measure_truth(m)
    of.measure_cost(m)
    of.measure_payload(m)
    searching.measure(m)
    learning.measure(m)
    of.measure_watch(m)
    log = _one_line(m, "one_line", 160)
    _one_line(m, "one_line_small", 16)
    m.figures["one_line_ratio"] = m.figures["one_line"] / m.figures["one_line_small"]
    of.measure_care(m)
    measure_postgres(m)
    of.say("the live store")
    figures, m.live = live.measure(options.peers)
    m.figures |= figures
    m.figures["peak_mb"] = m.peak / MB
    if options.skip_agentsview:
        return m, agentsview.Peer(why_not="--skip-agentsview was given")
    return m, of.measure_agentsview(m, log)


def _one_line(m: of.Measurements, figure: str, megabytes: int) -> OneLog:
    name = f"{megabytes} MB"
    of.say(f"a log of {name}")
    log = OneLog(m.bench.scratch / f"home-{figure}", m.corpus, megabytes * MB)
    m.figures[figure] = of.measure_one_line(m, log, name)
    return log


def main() -> int:
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="session-memory-bench-") as scratch:
        bench = Bench(Path(scratch).resolve())
        try:
            m, peer = measure_all(bench, options)
            lines = report(m, peer, command_line(options))
            print("\n".join(lines))
            if options.json:
                options.json.write_text(json.dumps(as_json(m, peer), indent=1) + "\n")
            if options.write:
                write_page(lines)
            peers = not options.skip_agentsview
            sizes = any_size.measure(bench, options.most_mb, peer=peers, write=options.write)
            print("", *sizes, sep="\n")
        except Failed as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
