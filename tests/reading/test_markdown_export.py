"""Exported Markdown only formats: whatever a log says, no viewer runs, fetches or mistakes it."""

from collections.abc import Iterator

import pytest
from effort import times
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from session_memory.render.markdown import fenced, harmless, inline
from session_memory.views.retro import marked

# A viewer that believes everything: HTML is passed through, any address is a link.
VIEWER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
VIEWER.validateLink = lambda url: True  # type: ignore[method-assign]
PIECES = (
    *(
        "<script>",
        "</style>",
        "<img src=x onerror=alert(1)>",
        "<!--",
        "-->",
        "<b",
        ">",
        "<",
        "&lt;",
    ),
    *(
        "](",
        "[a](javascript:x)",
        "![a](http://x.example/p.png)",
        "[a]: javascript:x",
        "[a]",
        "[",
        "]",
    ),
    *("<javascript:x>", "<https://x.example>", "[a](https://x.example)", "(", ")", "!", ":"),
    *("```", "````", "~~~", "`", "``", "```html", "# ", "## You", "===", "---", "***", "___", "- "),
    *(
        "> ",
        "1. ",
        "    ",
        "\t",
        "\n",
        "\n\n",
        "\\",
        "*",
        "_",
        "a",
        " ",
        "|",
        "|-|",
        "\r",
        "\x0b",
        "é",
    ),
    *("> # ", "- - # ", "+ ***", "=", "<?", "<![CDATA[", "&#x3c;script&#x3e;", "[a][b]", '"'),
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)


def tokens(text: str) -> Iterator[Token]:
    for token in VIEWER.parse(text):
        yield token
        yield from token.children or ()


def check_harmless(text: str) -> None:
    for token in tokens(text):
        assert token.type not in ("html_block", "html_inline", "image"), (token, text)
        assert token.type not in ("heading_open", "hr"), (token, text)
        if token.type == "link_open":
            address = str(token.attrs["href"])
            assert address.startswith(("http://", "https://")), (address, text)


@settings(deadline=None, max_examples=times(200))
@given(TEXTS)
@example("`[`](javascript:x)")
@example("[a](\njavascript:x)")
@example("<div\nonclick=x>")
@example("a\n===")
@example("```\n# not a heading\n")
@example("> ```\n> x\n<script>")
@example("[a]: javascript:x\n\n[a]")
@example("\\![a](http://x.example/p.png)")
@example("\\](javascript:x)")
@example("[a]\\\n: javascript:x")
def test_an_answer_keeps_its_words_and_loses_its_powers(text: str) -> None:
    check_harmless("\n".join(harmless(text)))


ADDRESSES = ("https://x.example", "www.x.example", "a@b.example", "http://x.example/a?b=c")


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("before", ["", "\\", "\\\\", "/", "&", "`"])
def test_no_tag_comes_alive_after_an_address_that_viewers_make_a_link(
    address: str, before: str
) -> None:
    """Such an address takes every sign that follows for its own, a backslash too, but no ``<``."""
    text = f"see {address}{before}<img src=x onerror=alert(1)> ok"
    for written in ("\n".join(harmless(text)), inline(text), marked(text)):
        assert "<" not in written
        check_harmless(written)


@settings(deadline=None)
@given(TEXTS.filter(lambda text: "```" not in text and "~~~" not in text))
def test_outside_of_blocks_of_code_nothing_opens_a_tag(text: str) -> None:
    assert "<" not in "".join(harmless(text)) + inline(text) + marked(text)


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES).map(lambda piece: piece.replace("\n", "")), max_size=8))
def test_nothing_inside_ends_a_block_of_code(lines: list[str]) -> None:
    text = "\n".join([*fenced(lines), "after"])
    fence, *rest = VIEWER.parse(text)
    assert fence.type == "fence"
    assert [token.content for token in rest if token.type == "inline"] == ["after"]


@settings(deadline=None)
@given(TEXTS)
def test_a_title_is_one_line_of_plain_text(text: str) -> None:
    written = inline(text)
    assert "\n" not in written
    parsed = list(tokens(f"# {written}"))
    assert [token.tag for token in parsed if token.type == "heading_open"] == ["h1"]
    kinds = {token.type for token in parsed} - {"heading_open", "heading_close", "inline"}
    assert kinds <= {"text", "text_special"}, (kinds, written)


@pytest.mark.parametrize(
    ("answer", "written"),
    [
        ("Use `a < b` here.", "Use a &lt; b here."),
        ("Call `rows[0](x)` or ``a`b``.", "Call rows\\[0\\](x) or ``a`b``."),
        ("`[a]: b` and `![c`, `d`", "\\[a\\]: b and !\\[c, `d`"),
        ("`a\\b` and a \\* b", "`a\\b` and a \\* b"),
        ("# Plan\n\n- one\n- two", "\\# Plan\n\n- one\n- two"),
        ("[docs](https://x.example/a)", "[docs](https://x.example/a)"),
        ("```python\nprint('<b>')\n```", "```python\nprint('<b>')\n```"),
        ("~~~\n```\n~~~", "````\n```\n````"),
        ("```sh\nnever closed", "```sh\nnever closed\n```"),
    ],
)
def test_formatting_stays(answer: str, written: str) -> None:
    assert "\n".join(harmless(answer)) == written


def test_a_hostile_session_is_a_document_with_our_structure_alone(evil) -> None:
    result = evil("export", "--format", "markdown", "evil0000", "--no-redact")
    assert result.exit_code == 0, result.stderr
    parsed = list(tokens(result.stdout))
    assert not [
        token for token in parsed if token.type in ("html_block", "html_inline", "image", "hr")
    ]
    links = [str(token.attrs["href"]) for token in parsed if token.type == "link_open"]
    assert all(link.startswith(("http://", "https://")) for link in links)
    places = [
        n for n, token in enumerate(parsed) if token.type == "heading_open" and not token.level
    ]
    headings = [(parsed[n].tag, parsed[n + 1].content.partition(" ")[0]) for n in places]
    assert headings == [
        ("h1", headings[0][1]),
        ("h2", "You"),
        ("h2", "Claude"),
        ("h2", "You"),
        ("h3", "Subagent:"),
        ("h4", "Claude"),
    ]
    assert "<script>" in result.stdout and "\\x1b[2J" in result.stdout
