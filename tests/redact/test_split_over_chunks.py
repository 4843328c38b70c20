"""A secret that an agent streamed in several chunks is masked wherever the joined text is shown."""

from pathlib import Path

import pytest

from session_memory.learn.analyze import analyze
from session_memory.learn.digest import encoded
from session_memory.learn.digests import digest_of
from session_memory.memory.exporting import transcript_text
from session_memory.redact import mask_values
from session_memory.testing.collecting import collect, new_store
from session_memory.testing.grok import GrokHome
from session_memory.testing.secrets import planted_secrets
from session_memory.views.transcript_items import TranscriptOptions

TOKEN = next(p.secret for p in planted_secrets(4) if p.kind == "github-token")


@pytest.mark.parametrize("format", ["markdown", "html", "jsonl"])
def test_a_transcript_masks_a_secret_that_was_streamed_in_chunks(
    tmp_path: Path, format: str
) -> None:
    home = GrokHome(tmp_path)
    log = home.session("alpha")
    log.prompt("what is the token?")
    for chunk in ("It is \x1b[32m", TOKEN[:2], TOKEN[2:20], TOKEN[20:], "\x1b[0m, as you know."):
        log.say(chunk)
    home.write()
    with new_store() as store:
        collect(store, tmp_path)
        options = TranscriptOptions()
        text = "".join(transcript_text(store, ["grok:alpha"], format, options, redacted=True))
        analyze(store)
        digest = digest_of(store, "grok:alpha")
    assert digest is not None
    for shown in (text, encoded(digest).decode()):
        assert not any(part in shown for part in (TOKEN[2:20], TOKEN[20:], TOKEN))
    assert "[redacted:github-token]" in text


def test_lines_of_one_text_are_joined_before_they_are_masked() -> None:
    lines = (f"{'word ' * 12}export TOKEN={TOKEN[:7]}", TOKEN[7:], "done")
    masked = mask_values({"lines": lines})
    assert not any(part in str(masked) for part in (TOKEN[:7], TOKEN[7:]))
