"""Coloured, escaped, invisible and wrapped secrets of every kind, on every surface that masks."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.config import Config
from session_memory.core.time import format_time, now_ms
from session_memory.learn.analyze import analyze
from session_memory.learn.digest import encoded
from session_memory.learn.digests import digest_of
from session_memory.learn.quoting import plain_lines, quoted
from session_memory.learn.train.gate import ProjectNames, clean
from session_memory.memory.exporting import transcript_text
from session_memory.redact import mask_cut, mask_values
from session_memory.retain.portable_file import export_store
from session_memory.retain.portable_import import import_store
from session_memory.store import Store
from session_memory.store.memory_store import temporary_store
from session_memory.store.migrations import all_tables
from session_memory.testing.claude import ClaudeHome, Clock, call
from session_memory.testing.collecting import check_sound, collect, events_of, new_store
from session_memory.testing.hidden_secrets import FORMS, SPELLINGS, seen, wrapped
from session_memory.testing.secrets import Planted, planted_secrets
from session_memory.views.secrets import list_secrets
from session_memory.views.transcript_items import TranscriptOptions

PLANTED = planted_secrets(3)
SHOWN = ("colour around", "highlighted")
DAY_MS = 86_400_000


def hidden_texts() -> Iterator[tuple[Planted, str]]:
    """Every kind in some forms: more than 177 texts."""
    for number, planted in enumerate(PLANTED):
        lines = planted.secret.split("\n")
        for form in SHOWN:
            hidden = "\n".join(FORMS[form](line) for line in lines)
            yield planted, planted.text.replace(planted.secret, hidden)
        if len(lines) == 1 and planted.text.startswith("it printed"):
            yield planted, wrapped(planted, (80, 93)[number % 2], len(planted.secret) // 2)


def parts(planted: Planted) -> list[str]:
    """Parts of a secret that no text may show."""
    lines = planted.secret.split("\n")
    body = lines[1] if lines[0].startswith("-----") else lines[0]
    size = min(len(body), 12)
    return [body[:size], body[(len(body) - size) // 2 :][:size], body[-size:]]


PARTS = {planted.secret: parts(planted) for planted in PLANTED}


def leaks(text: str | bytes) -> list[str]:
    """The kinds of the secrets of which a part can be read in a text."""
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    readable = seen(text).replace("\\", "").replace("&amp;", "&")
    return [p.kind for p in PLANTED if any(part in readable for part in PARTS[p.secret])]


def talkative(path: Path) -> ClaudeHome:
    """A session whose prompts, calls, results and raw lines have hidden secrets."""
    home = ClaudeHome(path)
    home.clock = Clock(format_time(now_ms() - 3 * DAY_MS))
    log = home.session("alpha")
    for number, (_, text) in enumerate(hidden_texts()):
        match number % 3:
            case 0:
                log.prompt(f"use this: {text}")
            case 1:
                log.answer("I try.", call("Bash", command=f"echo {text}"))
                log.result("fine")
            case _:
                log.answer("I look.", call("Bash", command="make"))
                log.result(f"Error: it failed\n{text}\n", is_error=True)
    log.prompt("great, that works, thanks!")
    log.answer("done")
    for name in ("first letter escaped", "every letter escaped", "safe for html"):
        for planted in PLANTED:
            line = SPELLINGS[name](planted.secret, planted.text)
            log.raw(b'{"type":"progress","data":' + line.encode() + b"}\n")
    home.write()
    return home


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store of that session as it is, for whoever only asks it."""
    home = tmp_path_factory.mktemp("told")
    talkative(home)
    with temporary_store() as store:
        collect(store, home)
        yield store


def everything_in(store: Store) -> bytes:
    """Every cell of every table, and every byte of raw."""
    cells: list[bytes] = []
    for table in all_tables():
        columns = ", ".join(store.db.columns(table))
        for row in store.db.all(f"select {columns} from {table}"):
            cells += [cell if isinstance(cell, bytes) else str(cell).encode() for cell in row]
    for source in store.sources.every():
        cells += store.raw.pieces(source.id)
    return b"\n".join(cells)


def test_the_logs_do_show_them(tmp_path: Path) -> None:
    home = talkative(tmp_path)
    assert set(leaks(home.logs[0].data)) == {planted.kind for planted in PLANTED}
    assert sum(1 for _ in hidden_texts()) > 177


def test_no_hidden_secret_reaches_a_store_that_masks(tmp_path: Path) -> None:
    home = talkative(tmp_path)
    with new_store() as store, new_store() as plain:
        config = Config(redact=True)
        sync(store, config, roots(config, (tmp_path,)), host="here")
        collect(plain, tmp_path)
        check_sound(store)
        assert leaks(everything_in(store)) == []
        (row,) = store.sources.every()
        assert row.kept == len(home.logs[0].data)
        uids = [[e.event_uid for e in events_of(one, "claude:alpha")] for one in (store, plain)]
        assert uids[0] == uids[1]
        assert list_secrets(store).total == 0


def test_no_hidden_secret_is_in_a_masked_portable_file(tmp_path: Path) -> None:
    talkative(tmp_path / "home")
    with new_store() as store, new_store() as other:
        collect(store, tmp_path / "home")
        export_store(store, tmp_path / "all.smx", redacted=True)
        import_store(other, tmp_path / "all.smx", Config())
        assert leaks(everything_in(other)) == []


@pytest.mark.parametrize("format", ["markdown", "html", "jsonl"])
def test_no_hidden_secret_is_in_a_transcript(told: Store, format: str) -> None:
    options = TranscriptOptions()
    text = "".join(transcript_text(told, ["claude:alpha"], format, options, redacted=True))
    assert leaks(text) == []
    assert text.count("[redacted:") > 100


def test_no_hidden_secret_is_in_what_is_learned(told: Store) -> None:
    analyze(told)
    digest = digest_of(told, "claude:alpha")
    assert digest is not None
    assert leaks(encoded(digest)) == []


def named_by_secrets(path: Path, token: str) -> None:
    """A session whose model, directory, branch, files, tools and titles contain a secret."""
    home = ClaudeHome(path)
    log = home.session("alpha")
    log.prompt(f"use {token} please")
    log.answer(
        "I try.",
        call("Read", file_path=f"/home/me/{token}/x.py"),
        call("WebFetch", url=f"https://x.local/?token={token}"),
        call(f"mcp__{token}__run", q=1),
    )
    log.result("fine")
    log.answer("done")
    for line in ({"type": "summary", "summary": token}, {"type": "ai-title", "aiTitle": token}):
        log.raw(json.dumps({**line, "sessionId": "alpha", "leafUuid": "x"}).encode() + b"\n")
    home.write()
    for file in path.rglob("*.jsonl"):
        text = file.read_text()
        for name in ("model", "gitBranch", "cwd", "version"):
            text = re.sub(rf'"{name}": ?"[^"]*"', f'"{name}":"/x/{token}"', text)
        file.write_text(text)


@pytest.mark.only("sqlite")
def test_no_secret_is_in_the_names_of_a_session(tmp_path: Path) -> None:
    token = next(planted.secret for planted in PLANTED if planted.kind == "github-token")
    named_by_secrets(tmp_path, token)
    with new_store() as store:
        collect(store, tmp_path)
        options = TranscriptOptions()
        for format in ("markdown", "html", "jsonl"):
            made = transcript_text(store, ["claude:alpha"], format, options, redacted=True)
            text = "".join(made)
            assert token not in text, format
            assert "[redacted:github-token]" in text
        analyze(store)
        digest = digest_of(store, "claude:alpha")
        assert digest is not None and token.encode() not in encoded(digest)


def test_every_hidden_secret_is_listed_and_none_is_shown(told: Store) -> None:
    listing = list_secrets(told)
    assert set(listing.kinds) >= {planted.kind for planted in PLANTED}
    assert leaks(json.dumps(listing.to_dict())) == []


def test_no_hidden_secret_is_in_texts_for_files_and_training() -> None:
    names = ProjectNames()
    for planted, text in hidden_texts():
        for made in (
            clean(text, names),
            quoted(text, 10_000),
            "\n".join(plain_lines(text)),
            mask_cut(f"{text} …"),
            json.dumps(mask_values({"a": [text, {"b": (text, "x")}], "lines": text.split("\n")})),
        ):
            assert planted.kind not in leaks(made), made
