"""What came out of one scenario with one agent."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from session_memory.conformance.comparing import Difference, compare
from session_memory.conformance.driver import Driver
from session_memory.conformance.found import FoundInLogs

EQUAL, DIFFERS, CANNOT, RECORDED, MISSING = "equal", "differs", "cannot", "recorded", "missing"
_ALWAYS = "*"


@dataclass(frozen=True)
class Result:
    """`known` are the differences that the driver declares, each with its reason. `remark` tells of
    releases that could not be installed."""

    agent: str
    version: str
    scenario: str
    status: str
    differences: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    seconds: float = 0.0
    date: str = ""
    remark: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def failed(self) -> bool:
        return self.status in (DIFFERS, MISSING)

    @property
    def text(self) -> str:
        return "; ".join(self.differences) or self.status


def compared(driver: Driver, truth: dict[str, Any], found: FoundInLogs) -> list[Difference]:
    """The differences, as far as the agent's log can tell."""
    per_turn, inside = driver.usage_per_turn, driver.subagents_inside
    return compare(truth, found, per_turn=per_turn, inside=inside)


def declared_by(driver: Driver, scenario: str) -> dict[str, str]:
    """What the agent's log cannot tell in this scenario."""
    return driver.known.get(_ALWAYS, {}) | driver.known.get(scenario, {})


def judged(
    driver: Driver, scenario: str, differences: Sequence[Difference]
) -> tuple[list[str], list[str]]:
    """The differences that nobody declared, and those that the driver did, with its reasons."""
    declared = declared_by(driver, scenario)
    found = {difference.key for difference in differences}
    wrong = [f"{one.key}: {one.text}" for one in differences if one.key not in declared]
    known = [f"{key}: {reason}" for key, reason in declared.items() if key in found]
    # What is declared for every scenario need not show in each of them.
    gone = driver.known.get(scenario, {}).keys() - found
    wrong += [f"{key}: declared as a known difference, but there is none" for key in sorted(gone)]
    return wrong, known
