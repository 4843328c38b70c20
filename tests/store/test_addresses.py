"""What is meant for a server must reach one, or be refused; a password must never be shown."""

import pytest

from session_memory.core.errors import StoreError
from session_memory.store import open_store

SECRET = "hunter22"
MISTAKEN = (
    f"postgres:/tester:{SECRET}@127.0.0.1/team",
    f"postgresql:/tester:{SECRET}@127.0.0.1/team",
    f"postgresql+psycopg://tester:{SECRET}@127.0.0.1/team",
    f"host=127.0.0.1 password={SECRET}",
    f"mysql://tester:{SECRET}@127.0.0.1/team",
)


@pytest.mark.parametrize("where", MISTAKEN)
def test_what_looks_like_an_address_never_becomes_a_file(where, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="neither a file nor a PostgreSQL address") as refused:
        open_store(where)
    assert SECRET not in f"{refused.value} {refused.value.hint}"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("password", ["p@ss", "wo#rd@x", "a/b@c"])
def test_a_password_with_an_at_sign_is_told_how_to_be_written(password: str) -> None:
    with pytest.raises(StoreError, match="is not the address") as refused:
        open_store(f"postgresql://tester:{password}@127.0.0.1:1/team")
    assert "%40" in str(refused.value.hint)
    assert password not in str(refused.value)


def test_a_short_password_is_not_picked_out_of_words() -> None:
    with pytest.raises(StoreError) as refused:
        open_store("postgresql://tester:o@127.0.0.1:1/team")
    assert "…" not in str(refused.value)


@pytest.mark.parametrize("where", ["memory.db", "a:b.db", "sub dir/memory.db", "c=d.db"])
def test_a_path_may_have_any_name(where: str, tmp_path) -> None:
    path = tmp_path / where
    path.parent.mkdir(exist_ok=True)
    open_store(str(path)).close()
    assert path.exists()
