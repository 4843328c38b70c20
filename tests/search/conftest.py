"""Tests of searching run on both databases."""

import pytest
from kept_stores import collected_once, kept_open

__all__ = ["collected_once", "everywhere", "kept_open"]


@pytest.fixture(autouse=True)
def everywhere(on_the_database: None) -> None:
    """Every test of this directory runs on both databases."""
