"""Texts of an export are searched together, and masked as if each were searched alone."""

import dataclasses
from contextlib import suppress
from itertools import product

from session_memory.core.errors import InvalidRecord
from session_memory.core.schema import Session, SessionEvent
from session_memory.redact import mask, mask_cut
from session_memory.testing.secrets import planted_secrets
from session_memory.views.masking import masked
from session_memory.views.transcript_items import SessionEnd, TranscriptEvent, TranscriptItem

EVENT = SessionEvent(session_uid="claude:a", seq=0, ts=None, kind="user_msg")


def test_two_secrets_in_one_title_are_both_masked() -> None:
    planted = [one for one in planted_secrets(9) if "\n" not in one.text and len(one.text) < 190]
    # Its rule needs the words before it on the same line, which a title has and its lines have not.
    second = [one for one in planted if one.kind == "aws-secret-key"]
    titles = [f"{one.text} and {two.text}" for one, two in product(planted, second)]
    titles += ["nothing to hide", "nothing to hide"]
    items: list[TranscriptItem] = [
        TranscriptEvent(depth=0, sort="note", seq=0, event=EVENT, title=title) for title in titles
    ]
    shown = [
        one.title
        for one in masked(items, mask, only_secrets=True)
        if isinstance(one, TranscriptEvent)
    ]
    assert shown == [mask_cut(title) for title in titles]
    assert not any(secret.secret in title for secret in planted for title in shown)


def test_every_text_of_a_session_is_masked_but_ids_times_and_our_own_words() -> None:
    """A field that is added to the schema is masked, unless somebody decides otherwise."""
    token = next(one.text for one in planted_secrets(9) if one.kind == "github-token")
    session = Session(session_uid="claude:a", flavor="claude", native_session_id="a")
    kept = set()
    for field in dataclasses.fields(Session):
        with suppress(InvalidRecord):
            planted = dataclasses.replace(session, **{field.name: token})
            (hidden,) = masked([SessionEnd(depth=0, session=planted)], mask)
            assert isinstance(hidden, SessionEnd)
            if getattr(hidden.session, field.name) == token:
                kept.add(field.name)
    assert kept == {"spawn_call_id"}
