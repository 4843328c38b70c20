"""What is learned is the same on both databases: every test here that makes a store runs twice."""

import pytest


@pytest.fixture
def everywhere(on_the_database: None) -> None:
    """Whatever store the test makes is on the database that it runs on."""
