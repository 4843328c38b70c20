"""Nothing that is learned from a session holds a secret of it: whole, or cut in half."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from session_memory.cli import main
from session_memory.core.time import format_time, now_ms
from session_memory.learn.analyze import analyze
from session_memory.learn.digest import DIGEST_VERSION, encoded
from session_memory.learn.digest.error_lines import error_line
from session_memory.learn.digest.fingerprints import fingerprint
from session_memory.learn.digests import digest_of
from session_memory.store import open_store
from session_memory.store.zstandard import zstd
from session_memory.testing.claude import ClaudeHome, Clock
from session_memory.testing.collecting import collect
from session_memory.testing.secrets import _Maker
from session_memory.testing.stores import Stores

CUTS = (80, 160, 300, 400, 1000, 2000)
DAY_MS = 86_400_000


def padded(size: int, word: str) -> str:
    return (f"deploy the service {word} " + "word " * 500)[: size - 1] + " "


class Secretive:
    """Sessions with a token across every place where something is cut, and a private key."""

    def __init__(self, path: Path) -> None:
        self._make, self.tokens = _Maker(7), list[str]()
        self.home = ClaudeHome(path)
        self.home.clock = Clock(format_time(now_ms() - 3 * DAY_MS))
        self.key = self._make.pem("OPENSSH PRIVATE" + " KEY")
        for size in CUTS:
            self._session(size)
        self.home.write()

    def _token(self) -> str:
        self.tokens.append(self._make.checked("gh" + "p_"))
        return self.tokens[-1]

    def _session(self, size: int) -> None:
        log, before = self.home.session(f"s{size}"), size - 28
        log.prompt(padded(before, "p") + self._token() + " now")
        log.answer("ok")
        log.run(padded(before, "c").replace("deploy", "echo") + self._token(), "fine")
        failure = f"Error: {padded(before - 7, 'e')}{self._token()} is not valid"
        log.run("make build", failure, exit_code=2)
        log.edit("/home/mira/code/app/x.py")
        log.run("make build", "built")
        log.run("cat key", self.key, exit_code=1)
        log.edit("/home/mira/code/app/y.py")
        log.run("cat key", "fine")
        message = padded(before, "m") + self._token()
        log.run(f"git commit -m '{message}'", f"[main abc1234] {message}")
        log.prompt(f"never {padded(before - 6, 'i')}{self._token()} do that again")
        log.answer("sorry")
        log.ai_title(padded(before, "t") + self._token())
        log.prompt("great, that works, thanks!")
        log.answer("done")

    def leaks(self, expected: str) -> Iterator[str]:
        for token in self.tokens:
            if token[:12] in expected:
                yield token[:12]
        for line in self.key.split("\n")[1:-1]:
            if line[:24] in expected:
                yield line[:24]


@pytest.fixture
def secretive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stores: Stores, database: str
) -> Secretive:
    found = Secretive(tmp_path / "home")
    place = stores.place("memory")
    monkeypatch.setenv("HOME", str(found.home.path))
    monkeypatch.setenv("SESSION_MEMORY_STORE", place)
    with open_store(place, durability="normal") as store:
        collect(store, found.home.path)
        analyze(store)
    return found


def run(*words: str) -> str:
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output + result.stderr
    return result.stdout


def test_no_command_that_tells_what_was_learned_tells_a_secret(
    secretive: Secretive, tmp_path: Path
) -> None:
    output = {
        words: run(*words)
        for words in (
            ("retro", "--days", "30"),
            ("retro", "--days", "30", "--json"),
            ("retro", "--days", "30", "--format", "html"),
            ("how", "deploy the service", "--limit", "0"),
            ("how", "deploy the service", "--limit", "0", "--json"),
            ("fix", "Error: deploy the service e word word word", "--limit", "0"),
            ("fix", "Error: deploy the service e word word word", "--limit", "0", "--json"),
            ("patterns", "--limit", "0"),
            ("patterns", "--limit", "0", "--json"),
            *(("digest", f"s{size}") for size in CUTS),
            *(("digest", f"s{size}", "--json") for size in CUTS),
            *(("retro", f"s{size}", "--json") for size in CUTS),
        )
    }
    patterns = json.loads(output["patterns", "--limit", "0", "--json"])["patterns"]
    assert patterns
    for pattern in patterns:
        output["accept", pattern["id"]] = run(
            "lessons", "accept", pattern["id"], "--force", "--json"
        )
    output["lessons",] = run("lessons", "list", "--json")
    target = tmp_path / "app" / "CLAUDE.md"
    target.parent.mkdir()
    output["propose",] = run("propose", "--target", str(target), "--repo", "app", "--force")
    for number, path in enumerate(sorted(tmp_path.rglob("l-*.md"))):
        output["file", str(number)] = path.read_text()
    assert {words: list(secretive.leaks(text)) for words, text in output.items()} == dict.fromkeys(
        output, []
    )
    assert "[redacted:github-token]" in output["retro", "--days", "30", "--json"]
    assert "[redacted:" in output["patterns", "--limit", "0", "--json"]


@pytest.mark.only("sqlite")
def test_digests_are_masked_when_they_are_made(secretive: Secretive) -> None:
    with open_store(os.environ["SESSION_MEMORY_STORE"]) as store:
        for size in CUTS:
            digest = digest_of(store, f"claude:s{size}")
            assert digest is not None and digest.version == DIGEST_VERSION
            assert list(secretive.leaks(encoded(digest).decode())) == []


def test_an_error_with_a_secret_is_the_same_error_with_another() -> None:
    make = _Maker(1)
    one, other = (f"Error: token {make.checked('gh' + 'p_')} is not valid" for _ in range(2))
    assert error_line(one) == "Error: token [redacted:github-token] is not valid"
    assert fingerprint(error_line(one)) == fingerprint(error_line(other))


def test_a_line_of_a_key_is_never_the_line_that_tells() -> None:
    key = _Maker(2).pem("RSA PRIVATE" + " KEY")
    assert error_line(key) == "[redacted:private-key]"


def test_an_old_digest_of_a_session_that_left_the_store_is_shown_and_masked(
    secretive: Secretive,
) -> None:
    """It was made before digests were masked, and nothing newer can be made of it."""
    with open_store(os.environ["SESSION_MEMORY_STORE"]) as store:
        digest = digest_of(store, "claude:s80")
        assert digest is not None
        title = f"with {secretive.tokens[0]}"
        old = msgspec.structs.replace(digest, version=DIGEST_VERSION - 1, title=title)
        with store.transaction():
            store.db.execute(
                "update digests set body = :body where session_uid = :uid",
                {"body": zstd.compress(encoded(old)), "uid": "claude:s80"},
            )
            store.db.execute(
                "update sessions set evicted_at = 1 where uid = :uid", {"uid": "claude:s80"}
            )
    output = json.loads(run("digest", "s80", "--json"))
    assert output["is_stored"] and output["digest"]["events"] == digest.events
    assert output["digest"]["title"] == "with [redacted:github-token]"
    assert not [token for token in secretive.tokens if token in run("digest", "s80")]
