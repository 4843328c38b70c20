"""An address with a password in it, however it is mistyped: no command shows or stores it."""

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Run

SECRET = "hunter22"
# Port 1 of this machine: nothing listens there.
PLACE = "127.0.0.1:1/team"
ADDRESSES = (
    f"postgresql://tester:{SECRET}@{PLACE}",
    f" postgresql://tester:{SECRET}@{PLACE}",
    f"\n\tpostgresql://tester:{SECRET}@{PLACE} ",
    f"postgresql://tester:a/{SECRET}@{PLACE}",
    f"postgresql://tester:{SECRET}/b@{PLACE}",
    f"postgresql://tester:{SECRET}#b@{PLACE}",
    f"postgresql://tester:a#{SECRET}@{PLACE}",
    f"postgresql://tester:a?{SECRET}@{PLACE}",
    f"postgresql://tester:{SECRET}?b@{PLACE}",
    f"postgresql://tester:a@{SECRET}@{PLACE}",
    f"postgresql://tester:{SECRET}%@{PLACE}",
    f"postgresql://tester:%zz{SECRET}@{PLACE}",
    f"postgresql://tester:a {SECRET}@{PLACE}",
    f"postgresql://tester:{SECRET}",
    f"postgresql://tester:{SECRET}/team",
    f"postgresql://tester@{PLACE}?password={SECRET}",
    f"postgresql://tester@{PLACE}?sslpassword={SECRET}",
    f"postgresql://tester@{PLACE}?pass%77ord={SECRET}",
    f"'postgresql://tester:{SECRET}@{PLACE}'",
    f"\ufeffpostgresql://tester:{SECRET}@{PLACE}",
    f"store=postgresql://tester:{SECRET}@{PLACE}",
    f"postgres:tester:{SECRET}@{PLACE}",
    f"host=127.0.0.1 port=1 password={SECRET}",
)
COMMANDS = (
    ("status",),
    ("doctor",),
    ("doctor", "--json"),
    ("config",),
    ("config", "--json"),
    ("sync",),
    ("sync", "--dry-run"),
    ("sessions",),
    ("store", "verify"),
    ("store", "copy", "other.db", "ADDRESS"),
    ("store", "copy", "ADDRESS", "other.db"),
    ("live", "list"),
    ("service", "install", "--dry-run"),
    ("service", "install", "--yes", "--json"),
    ("forget", "claude:x", "--dry-run"),
    ("import", "nothing.smx"),
)


def names_and_texts(*directories: Path) -> str:
    found = [path for directory in directories for path in directory.rglob("*")]
    texts = [path.read_bytes().decode(errors="replace") for path in found if path.is_file()]
    return "\n".join([*map(str, found), *texts])


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("how", ["option", "variable", "file"])
def test_no_command_shows_or_stores_a_password(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    (here / "nothing.smx").write_bytes(b"nothing")
    settings = home / ".session-memory" / "config.toml"
    settings.parent.mkdir(mode=0o700)
    for address in ADDRESSES:
        if how == "variable":
            monkeypatch.setenv("SESSION_MEMORY_STORE", address)
        elif how == "file":
            quoted = address.replace("\n", "\\n").replace("\t", "\\t")
            settings.write_text(f'store = "{quoted}"\n')
        for words in COMMANDS:
            named = [address if word == "ADDRESS" else word for word in words]
            if how == "option":
                named += ["--store", address]
            result = run(*named)
            assert SECRET not in result.output, (address, words)
            assert SECRET not in result.stderr, (address, words)
            assert "Traceback" not in result.stderr, (address, words)
            assert result.exception is None or isinstance(result.exception, SystemExit), words
        settings.unlink(missing_ok=True)
        assert SECRET not in names_and_texts(home, here), address
        assert [path.name for path in here.iterdir()] == ["nothing.smx"], address


@pytest.mark.only("postgresql")
def test_blanks_around_an_address_do_not_matter(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = os.environ["SESSION_MEMORY_STORE"]
    monkeypatch.chdir(home)
    for around in (f" {place}", f"{place}\n", f"\t{place} "):
        result = run("sessions", "--json", "--store", around)
        assert result.exit_code == 0, result.stderr
    assert list(home.iterdir()) == []
