"""Tests of searching run on both databases."""

import pytest


@pytest.fixture(autouse=True)
def everywhere(on_the_database: None) -> None:
    """Every test of this directory runs on both databases."""
