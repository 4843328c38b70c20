"""Tests of collecting run on both databases."""

import pytest
from kept_stores import collected_once, kept_open

__all__ = ["collected_once", "everywhere", "kept_open", "stride"]


@pytest.fixture
def stride(database: str) -> int:
    """Try every case on SQLite and every ninth on PostgreSQL, which is ten times as slow."""
    return 1 if database == "sqlite" else 9


@pytest.fixture(autouse=True)
def everywhere(on_the_database: None) -> None:
    """Every test of this directory runs on both databases."""
