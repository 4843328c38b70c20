"""Turn the Markdown of an agent's answer into HTML that only formats.

HTML in the answer is shown as text, pictures are not fetched, and links lead to web addresses only.
"""

import html as markup
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from session_memory.render.code import Colours
from session_memory.render.text import safe_lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# A longer text is shown unformatted: a parser can be slow on hostile input.
LONGEST = 200_000
LONGEST_LINE = 20_000
_WEB = re.compile(r"(?i)https?://[^\s]+")


def answer(text: str, colours: Colours | None = None) -> str:
    """Return an agent's answer as HTML. ``colours`` colours code blocks; without it, none is."""
    lines = safe_lines(text.strip("\n"))
    safe = "\n".join(lines)
    if len(safe) > LONGEST or any(len(line) > LONGEST_LINE for line in lines):
        return f"<pre>{markup.escape(safe)}</pre>"
    rendered: str = _parser().render(safe, {"colours": colours or Colours(0)})
    return rendered


@cache
def _parser() -> "MarkdownIt":
    # This package comes with rich. It is imported only when the first answer is shown.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20})
    parser.enable(["table", "strikethrough"]).disable(["image", "html_block", "html_inline"])
    parser.validateLink = _is_web  # type: ignore[method-assign]
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("heading_close", _heading)
    return parser


def _is_web(url: str) -> bool:
    return _WEB.fullmatch(url) is not None


def _link(self: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
    href = markup.escape(str(tokens[place].attrs.get("href", "")), quote=True)
    return f'<a href="{href}" rel="noopener noreferrer nofollow">'


def _heading(self: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
    """Render a heading of an answer: from level 4 on, below the headings of the page."""
    token = tokens[place]
    level = min(int(token.tag[1]) + 3, 6)
    return f"<h{level}>" if token.nesting == 1 else f"</h{level}>\n"


def _fence(self: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
    token = tokens[place]
    language = str(token.info).strip().partition(" ")[0]
    code = env["colours"].html(token.content.removesuffix("\n"), language)
    return f"<pre><code>{code}\n</code></pre>\n"
