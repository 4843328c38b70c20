"""Large libraries are imported by the worker that runs their tests, and by no other."""

import pytest
from late import LOADED_BY_COLLECTING, Late


def test_no_large_library_is_imported_to_collect_the_tests() -> None:
    assert LOADED_BY_COLLECTING == []


def test_names_that_pytest_asks_for_import_nothing() -> None:
    missing = Late("no_such_module")
    assert not hasattr(missing, "__wrapped__") and not hasattr(missing, "_mock_name")
    with pytest.raises(ModuleNotFoundError):
        _ = missing.anything
    assert Late("json").loads("[1]") == [1]
