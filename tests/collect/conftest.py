"""Everything about collecting holds on both databases."""

import pytest


@pytest.fixture
def stride(database: str) -> int:
    """Of many cases alike, every which to try: a server takes ten times as long for each."""
    return 1 if database == "sqlite" else 9


@pytest.fixture(autouse=True)
def everywhere(on_the_database: None) -> None:
    """Every test here runs twice."""
