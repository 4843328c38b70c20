"""A wrong configuration is an error that names the file, the setting and what to do."""

from pathlib import Path

import pytest

from session_memory import Memory
from session_memory.config import Config, load_config
from session_memory.core.errors import ConfigError

WRONG = {
    "stroe = 'x'": ("unknown field `stroe`", "Did you mean store?"),
    "[sources.claude]\nroots = '~/.claude'": (
        'sources."claude".roots: expected a list, got a text',
        "--example",
    ),
    '[prices."house"]\ninput = "3"\noutput = 1': (
        'prices."house".input: expected a number, got a text',
        "--example",
    ),
    '[prices."house"]\ninput = -3\noutput = 1': ("input must be from 0 to 10,000", "--example"),
    "[budget]\nmonth = 0": ("month must be more than 0", "--example"),
    "[lessons]\npromote_sessions = 0": ("lessons.promote_sessions: expected", "--example"),
    "[domains]\nwebshop = 1": ('domains."webshop": expected a text, got a number', "--example"),
    "store = ": ("is not valid TOML: ", "--example"),
    "[retention]\nraw_max_age = 3": ("unknown field `raw_max_age`", "raw_max_age_days"),
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_setting_is_named_with_its_file(home: Path, text: str) -> None:
    path = home / "config.toml"
    path.write_text(text)
    fact, hint = WRONG[text]
    with pytest.raises(ConfigError) as refused:
        load_config(path)
    assert str(path) in str(refused.value) and fact in str(refused.value)
    assert hint in (refused.value.hint or "")


def test_a_file_that_is_no_text_is_an_error_and_none_means_the_defaults(home: Path) -> None:
    path = home / "config.toml"
    assert load_config(path) == load_config() == Config()
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot read"):
        load_config(path)


def test_a_file_that_the_environment_names_must_exist(
    place: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SESSION_MEMORY_CONFIG", "~/typo.toml")
    with pytest.raises(ConfigError, match="SESSION_MEMORY_CONFIG names .*typo.toml") as refused:
        Memory()
    assert "unset" in (refused.value.hint or "")
    # A store that is given needs no configuration before something is priced.
    with Memory(place) as memory:
        assert memory.store.sessions.count()
        with pytest.raises(ConfigError):
            memory.cost()
