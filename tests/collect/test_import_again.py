"""Carrying a machine's history over, again and again."""

from pathlib import Path

from session_memory.config import Config
from session_memory.retain.portable_file import export_store
from session_memory.retain.portable_import import import_store
from session_memory.testing.collecting import collect, new_store

LINE = (
    '{"type":"user","uuid":"00000000-0000-4000-8000-00000000000%d","parentUuid":null,'
    '"sessionId":"alpha","timestamp":"2026-11-01T10:00:0%d.000Z",'
    '"message":{"role":"user","content":"say %d"}}\n'
)


def test_what_a_log_has_more_is_taken_in(tmp_path: Path) -> None:
    log = tmp_path / "home" / ".claude" / "projects" / "p" / "alpha.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text(LINE % (1, 1, 1) + LINE[:40])
    with new_store() as here, new_store() as there:
        collect(here, tmp_path / "home")
        export_store(here, tmp_path / "first.smx")
        import_store(there, tmp_path / "first.smx", Config())
        assert there.fingerprint() == here.fingerprint()
        log.write_text(LINE % (1, 1, 1) + LINE % (2, 2, 2))
        collect(here, tmp_path / "home")
        with log.open("a") as file:
            file.write(LINE % (3, 3, 3))
        collect(here, tmp_path / "home")
        export_store(here, tmp_path / "second.smx")
        done = import_store(there, tmp_path / "second.smx", Config())
        assert done.known < done.sources
        assert there.fingerprint() == here.fingerprint()
        assert import_store(there, tmp_path / "second.smx", Config()).known == done.sources
