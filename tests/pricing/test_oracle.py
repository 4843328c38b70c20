"""genai-prices, whose data the table is made of, is the judge of every amount."""

import importlib.util
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import oracle
import pytest
from genai_prices.data_snapshot import get_snapshot
from ledger import Ledger

from session_memory.core.schema import Usage
from session_memory.core.time import format_time, parse_time
from session_memory.pricing.amounts import charges
from session_memory.pricing.models import match_model
from session_memory.pricing.table import price_table
from session_memory.store import Store
from session_memory.testing.collecting import collect, every_usage, new_store

ROOT = Path(__file__).resolve().parent.parent.parent
SHARED = Path(os.environ.get("SESSION_MEMORY_SHARED") or ROOT.parent / "shared")
SAMPLES = [
    *sorted((ROOT / "tests" / "data").glob("*/*/home")),
    *sorted(SHARED.glob("samples/agents/*/*/home")),
    *sorted(path for path in SHARED.glob("samples/public/*/*") if path.is_dir()),
]


def check(store: Store) -> int:
    """Every record of the store, against the oracle; how many had a price."""
    found = {charge.key[0]: charge for charge in charges(store, ("usage", "session"))}
    priced = 0
    used = every_usage(store)
    for usage in used:
        charge = found.pop(usage.usage_id)
        if usage.ts is None:
            continue
        try:
            expected = oracle.microdollars(usage)
        except LookupError:
            assert charge.rate.price is None or charge.rate.rule != "by its name", usage
            continue
        assert charge.rate.price is not None, usage
        assert charge.microdollars == expected, (usage, charge)
        priced += 1
    assert not found
    return priced


@pytest.mark.parametrize("home", SAMPLES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_usage_record_of_the_samples_costs_what_the_oracle_says(home: Path) -> None:
    with new_store() as store:
        collect(store, home)
        check(store)


def test_the_samples_hold_priced_records() -> None:
    with new_store() as store:
        log = ROOT / "src" / "session_memory" / "demo" / "home"
        collect(store, log)
        assert check(store) > 20


def test_a_small_corpus_costs_what_the_oracle_says(tmp_path: Path) -> None:
    generator = SHARED / "bench" / "gen_corpus.py"
    if not generator.is_file():
        pytest.skip("the corpus generator is only in shared/bench: set SESSION_MEMORY_SHARED")
    made = tmp_path / "corpus" / "home"
    items = ["--sessions", "10", "--mb", "1"]
    subprocess.run([sys.executable, str(generator), str(made), *items], check=True, timeout=300)
    with new_store() as store:
        collect(store, made)
        assert check(store) > 100


# ---------------------------------------------------------------- any model, any moment, any size

NAMED = [
    (provider.id, model.id.lower())
    for provider in price_table().providers
    if provider.match
    for model in provider.every_model
]


def drawn(seed: int, how_many: int) -> Iterator[tuple[str, str, int, dict[str, int]]]:
    """``(model, tier, moment, buckets)``: sizes on both sides of every band that is in use."""
    draw = random.Random(seed)
    sizes = (0, 1, 7, 99_999, 100_000, 100_001, 128_001, 199_999, 200_000, 200_001, 272_001, 10**6)
    for _ in range(how_many):
        _, model = draw.choice(NAMED)
        written = draw.choice(sizes)
        buckets = {
            "input": draw.choice(sizes),
            "output": draw.choice((0, 3, 64_000)),
            "read": draw.choice(sizes),
            "write": written,
            "hour": draw.choice((0, written // 2, written)),
            "searches": draw.choice((0, 0, 2)),
        }
        moment = parse_time("2024-01-01T00:00:00.000Z") + draw.randrange(1100 * 86_400_000)
        yield model, draw.choice(("", "standard", "flex", "priority", "batch")), moment, buckets


@pytest.mark.parametrize("seed", range(3))
def test_any_model_at_any_moment_and_size_costs_what_the_oracle_says(
    ledger: Ledger, seed: int
) -> None:
    uid = ledger.session(flavor="somebody")
    asked: dict[str, Usage] = {}
    with ledger.store.transaction():
        for model, tier, moment, buckets in drawn(seed, 400):
            usage_id = ledger.used(uid, model, moment, tier=tier or None, **buckets)
            asked[usage_id] = Usage(
                session_uid=uid,
                usage_id=usage_id,
                ts=format_time(moment),
                model=model,
                service_tier=tier or None,
                input_tokens=buckets["input"],
                output_tokens=buckets["output"],
                cache_read_tokens=buckets["read"],
                cache_write_tokens=buckets["write"],
                cache_write_1h_tokens=buckets["hour"],
                web_searches=buckets["searches"],
            )
    found = {charge.key[0]: charge for charge in charges(ledger.store, ("usage",))}
    assert found.keys() == asked.keys()
    for usage_id, usage in asked.items():
        charge = found[usage_id]
        try:
            expected = oracle.microdollars(usage)
        except LookupError:
            continue
        assert charge.microdollars == expected, (usage, charge.rate)


def test_the_oracle_and_we_mean_the_same_model_by_every_name_of_the_table() -> None:
    for _, name in NAMED:
        meant = match_model(price_table(), "somebody", name)
        ours = None if meant is None else (meant.provider.id, meant.model.id)
        assert ours == theirs(name), name


def theirs(name: str) -> tuple[str, str] | None:
    try:
        provider, model = get_snapshot().find_provider_model(name, None, None, None)
    except LookupError:
        return None
    return provider.id, model.id


# ---------------------------------------------------------------- the table itself


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_prices", ROOT / "tools" / "make_prices.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_what_its_tool_makes_of_the_version_it_names(maker: ModuleType) -> None:
    assert price_table().source == f"genai-prices {version('genai-prices')}"
    shipped = maker.TARGET.read_text(encoding="utf-8")
    assert maker.text(maker.table(), price_table().made) == shipped


def test_the_digest_is_that_of_the_rows(maker: ModuleType) -> None:
    output = json.loads(maker.TARGET.read_text(encoding="utf-8"))
    again = json.loads(maker.text(output, output["made"]))
    assert again["digest"] == output["digest"] == price_table().digest
