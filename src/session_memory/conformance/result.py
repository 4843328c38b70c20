"""The result of one scenario with one agent."""

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
    """The result of one scenario with one agent.

    `differences` are those that nobody declared, `known` those that the driver declares, each with
    its reason. `remark` says which releases could not be installed.
    """

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
    """Return the differences between the script and the log, compared as this agent logs tokens."""
    per_turn, inside = driver.usage_per_turn, driver.subagents_inside
    return compare(truth, found, per_turn=per_turn, inside=inside)


def declared_by(driver: Driver, scenario: str) -> dict[str, str]:
    """Return the known differences of the agent in this scenario: their keys and reasons."""
    every, sometimes = driver.known.get(_ALWAYS, {}), driver.sometimes.get(scenario, {})
    return every | sometimes | driver.known.get(scenario, {})


def judged(
    driver: Driver, scenario: str, differences: Sequence[Difference]
) -> tuple[list[str], list[str]]:
    """Return two lists: the differences that nobody declared, and those that the driver declares.

    A difference that is declared for this scenario but did not occur is added to the first list.
    """
    declared = declared_by(driver, scenario)
    found = {difference.key for difference in differences}
    wrong = [f"{one.key}: {one.text}" for one in differences if one.key not in declared]
    known = [f"{key}: {reason}" for key, reason in declared.items() if key in found]
    # A difference that is declared for every scenario need not occur in each of them.
    gone = driver.known.get(scenario, {}).keys() - found
    wrong += [f"{key}: declared as a known difference, but there is none" for key in sorted(gone)]
    return wrong, known
