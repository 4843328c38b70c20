"""What last words say about a result, and what they do not."""

import pytest

from session_memory.learn.digest.similarity import content_words, word_overlap
from session_memory.learn.digest.verdicts import is_instruction, verdict


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("thanks!", "praise"),
        ("Perfect, that works", "praise"),
        ("ok, great", "praise"),
        ("it works now", "praise"),
        ("LGTM", "praise"),
        ("thanks, but it still fails", "complaint"),
        ("That's wrong.", "complaint"),
        ("it doesn't work", "complaint"),
        ("still the same error", "complaint"),
        ("you broke the build", "complaint"),
        ("never mind", "dismissal"),
        ("forget it, I'll do it myself", "dismissal"),
        ("stop", "dismissal"),
        ("works?", None),
        ("workspace layout please", None),
        ("add a test for the token refresh", None),
        ("no, the other one", None),
        ("make great art", None),
        ("thankless job queue: fix it", None),
        ("", None),
        ("great " * 200, None),
        ("Great work, thank you so much!", "praise"),
        ("Great, no errors any more", "praise"),
        ("exactly what I wanted", "praise"),
        ("Perfect 🎉", "praise"),
        ("works on my machine too", "praise"),
        ("Thanks, but the tests fail", None),
        ("thanks but it crashes on start now", None),
        ("Works on my machine, fails in CI", None),
        ("works only when I restart", None),
        ("Perfect squares are not handled, look at that next", None),
        ("Nice to have: dark mode", None),
        ("Fixed point numbers overflow here, why", None),
        ("great, now all my data is gone", None),
        ("great, now add a login page", None),
        ("This works, but you removed the login page!", None),
        ("ok thanks, revert everything", None),
        ("Great. Everything is red now", None),
        ("it works but is terribly slow; the budget test times out", None),
        ("exactly the opposite of what I wanted", "complaint"),
        ("all good except the build is failing", None),
        ("It works? I see 3 failures", None),
        ("please handle the case where the network is not working", None),
        ('fix the wrong error message: "does not work"', None),
        ("it does not work when I click", "complaint"),
        ("please fix this, it is still broken", "complaint"),
        ("do not drop this table!", None),
        ("Don't give up yet", None),
        ("never mind the warnings, continue", None),
        ("never mind, go on", None),
        ("forget this file, use the other one", None),
        ("let's leave it for now", "dismissal"),
        ("never mind, I will do it by hand", "dismissal"),
    ],
)
def test_a_verdict_is_heard_and_a_request_is_none(text: str, said: str | None) -> None:
    assert verdict(text) == said


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("don't add comments", True),
        ("always run the linter", True),
        ("use uv for installing, not pip", True),
        ("I told you to keep the tests", True),
        ("add a login page", False),
        ("what does this do?", False),
    ],
)
def test_how_to_work_is_told_from_what_to_do(text: str, tells: bool) -> None:
    assert is_instruction(text) is tells


def test_likeness_is_about_words_that_mean_something() -> None:
    one = content_words("please don't add the comments to that file")
    other = content_words("Don't add comments to the file, please!")
    assert word_overlap(one, other) == 1.0
    assert word_overlap(one, content_words("rename the server")) == 0.0
    assert word_overlap(frozenset(), frozenset()) == 0.0
