"""Code, changed words and program colours as HTML: to the character, escaped and bounded."""

import html
import re
import time

import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.render.code import _LEXERS, LONGEST_LINE, MOST, Colours, language_of
from session_memory.render.outputs import output_html
from session_memory.render.text import safe_lines
from session_memory.render.word_changes import changed_lines

TEXT = st.text(
    st.one_of(
        st.characters(codec="utf-8"), st.sampled_from("\x1b[31m<>&\"'`/*\\\n\r\t\u202e ({$#")
    ),
    max_size=300,
)


def read(made: str) -> str:
    """What a browser shows: without the tags, which are ours alone."""
    tags = set(re.findall(r"<[^>]*>", made))
    assert all(
        re.fullmatch(r'</?(span|em)>|<span class="(h[ksfnc]|ansi-\w( ansi-\w)*)">', tag)
        for tag in tags
    )
    return html.unescape(re.sub(r"<[^>]*>", "", made))


@settings(deadline=None, max_examples=times(60))
@given(code=TEXT, language=st.sampled_from([*sorted(_LEXERS), "none", ""]))
def test_code_is_shown_to_the_character(code: str, language: str) -> None:
    assert read(Colours(1 << 20).html(code, language)) == "\n".join(safe_lines(code))


@settings(deadline=None, max_examples=times(60))
@given(
    lines=st.lists(st.builds(lambda a, b: a + b.replace("\n", ""), st.sampled_from("+- @"), TEXT))
)
def test_lines_of_a_diff_are_shown_to_the_character(lines: list[str]) -> None:
    made = changed_lines(lines, "py", Colours(1 << 20))
    shown = [safe_lines(line)[0] for line in lines]
    assert [
        (sign or line[:1] * (line[:1] == " ")) + read(text)
        for (_, sign, text), line in zip(made, shown, strict=True)
    ] == shown


@settings(deadline=None, max_examples=times(60))
@given(output=TEXT)
def test_outputs_are_shown_to_the_character(output: str) -> None:
    plain = re.sub(r"\x1b\[[0-9;]{0,40}m", "", output)
    assert read("\n".join(output_html(output))) == "\n".join(safe_lines(plain))


def test_the_words_that_changed_are_marked() -> None:
    lines = ["@@", "-a = request.json()", "+a = request.body()", " b", "-one", "+completely other"]
    made = [text for _, _, text in changed_lines(lines, "py", Colours(1 << 20))]
    assert made[1:3] == ["a = request.<em>json</em>()", "a = request.<em>body</em>()"]
    assert "<em>" not in "".join(made[4:])


def test_a_colour_goes_on_in_the_next_line() -> None:
    assert output_html("a\x1b[1;31mb\nc\x1b[0md\x1b[38;5;31me\x1b[2J") == [
        'a<span class="ansi-b ansi-r">b</span>',
        '<span class="ansi-b ansi-r">c</span>de\\x1b[2J',
    ]


def test_what_is_too_much_stays_plain() -> None:
    colours = Colours(100)
    assert "<span" in colours.html("return 1", "py")
    for code in ("return 1\n" * (MOST // 9 + 1), "return " + "a" * LONGEST_LINE, "return 1" * 13):
        assert "<span" not in colours.html(code, "py")
    assert "<span" not in Colours(1 << 20).html("return" + "\n" * 200 + "1", "c")


@pytest.mark.parametrize("language", sorted(_LEXERS))
def test_no_lexer_is_slow_with_text_that_is_made_for_it(language: str) -> None:
    began = time.thread_time()
    for part in ("/*", "\n "):
        Colours(1 << 20).html(part * (1000 // len(part)) + "\n", language)
        Colours(1 << 20).html((part * 20 + "\n") * (1000 // (20 * len(part) + 1)), language)
    assert time.thread_time() - began < 5


def test_the_language_of_a_file_is_that_of_its_name() -> None:
    assert [language_of(path) for path in ("a/b.py", "Dockerfile", "x.TSX", "a", "Makefile")] == [
        "python",
        "docker",
        "typescript",
        "",
        "make",
    ]
