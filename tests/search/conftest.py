"""Everything about searching holds on both databases."""

import pytest


@pytest.fixture(autouse=True)
def everywhere(on_the_database: None) -> None:
    """Every test here runs twice."""
