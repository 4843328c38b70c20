"""Tests of learning that ask for ``everywhere`` run on both databases."""

import pytest


@pytest.fixture
def everywhere(on_the_database: None) -> None:
    """`new_store` makes stores on the database that the test runs on."""
