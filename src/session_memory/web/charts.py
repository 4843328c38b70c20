"""Draw figures as SVG. Colours are classes, so the style sheet decides about themes and print."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from functools import lru_cache

import msgspec
from markupsafe import Markup, escape

from session_memory.render.text import safe

FILLS = ("f-k1", "f-k2", "f-k3", "f-k4")
OUTCOME_FILLS = {
    "success": "f-good",
    "continued": "f-k2",
    "unknown": "f-idle",
    "abandoned": "f-warn",
    "fail": "f-bad",
}
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 1160, 210, 46, 24
_MILLION = 1_000_000
MOST_DAY_BARS = 90
_STRIP = {"p": "f-person", "m": "f-model", "t": "f-tool", "+": "f-tool", "x": "f-tool"}
_STRIP_SVG = Markup(
    '<svg class="strip" width="132" height="18" viewBox="0 0 132 18" role="img"'
    ' aria-label="Who worked: model, tools, you; failures and tests">{}</svg>'
)


class MoneyBar(msgspec.Struct, frozen=True):
    """A bar of parts, each with a CSS class and micro-dollars. ``address`` is the page it links to,
    ``says`` its tooltip."""

    label: str
    parts: list[tuple[str, int]]
    address: str = ""
    says: str = ""

    @property
    def total(self) -> int:
        return sum(value for _, value in self.parts)


def _text(x: float, y: float, text: str, classes: str = "") -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" class="{}">{}</text>').format(
        x, y, classes, safe(text)
    )


def _rect(x: float, y: float, width: float, height: float, fill: str) -> Markup:
    return Markup(
        '<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="1.5" class="{}"/>'
    ).format(x, y, max(width, 0.5), max(height, 0.5), fill)


def nice_step(highest: float) -> float:
    """Return a step for an axis with two to five lines: 1, 2 or 5 times a power of ten."""
    step = 10.0**-2
    while highest / step > 4.5:
        for factor in (2, 2.5, 2):
            step *= factor
            if highest / step <= 4.5:
                break
    return step


def dollars_on_axis(value: float, step: float) -> str:
    return f"${value:,.0f}" if step >= 1 else f"${value:,.2f}"


def spending_bars(
    bars: Sequence[MoneyBar], *, label: str, limit: int | None = None, size: int = _WIDTH
) -> Markup:
    """Draw bars of money, one for each day. ``limit``, in micro-dollars, is a dashed line.

    ``size`` is the width of the drawing. In a narrow card, a small one keeps its text readable.
    """
    highest = max([*(bar.total for bar in bars), limit or 0, 1]) / _MILLION
    step = nice_step(highest)
    top = _HEIGHT - _BOTTOM
    scale = (top - 14) / (highest or 1)
    parts: list[Markup] = []
    lines = int(highest / step) + 1
    for number in range(lines):
        y = top - number * step * scale
        parts.append(Markup('<path d="M{} {:.1f}H{}" class="ax"/>').format(_LEFT, y, size))
        parts.append(_text(_LEFT - 8, y + 4, dollars_on_axis(number * step, step), "t-end"))
    width = (size - _LEFT) / max(len(bars), 1)
    every = max(-(-len(bars) // 8), 1)
    for place, bar in enumerate(bars):
        x, y = _LEFT + place * width, float(top)
        body: list[Markup] = []
        for fill, value in bar.parts:
            height = value / _MILLION * scale
            y -= height
            body.append(_rect(x + width * 0.1, y, width * 0.8, height, fill))
        # An invisible rectangle: the pointer may be anywhere above the day.
        body.append(
            Markup('<rect x="{:.1f}" y="0" width="{:.1f}" height="{}" class="over"/>').format(
                x, width, top
            )
        )
        group = Markup("<g><title>{}</title>{}</g>").format(safe(bar.says), Markup("").join(body))
        if bar.address:
            group = Markup('<a href="{}">{}</a>').format(bar.address, group)
        parts.append(group)
        if place % every == 0 or place == len(bars) - 1:
            at, anchor = (x + width / 2, "t-mid") if x < size - 40 else (size, "t-end")
            parts.append(_text(at, _HEIGHT - 6, bar.label, anchor))
    if limit is not None:
        y = top - limit / _MILLION * scale
        parts.append(Markup('<path d="M{} {:.1f}H{}" class="s-warn dash"/>').format(_LEFT, y, size))
        words = f"daily limit {dollars_on_axis(limit / _MILLION, limit / _MILLION)}"
        parts.append(_text(size, max(y - 5, 10), words, "t-end"))
    return _drawing(size, _HEIGHT, label, parts)


def _drawing(width: int, height: int, label: str, parts: Sequence[Markup]) -> Markup:
    return Markup(
        '<svg class="wide" viewBox="0 0 {} {}" role="group" aria-label="{}">{}</svg>'
    ).format(width, height, label, Markup("").join(parts))


def day_bars(
    counts: Mapping[date, int], label: str, address: Callable[[date, date], str]
) -> Markup:
    """Draw small bars of counts by day, or by several days if there are many.

    Each bar links to ``address(first day, last day)``.
    """
    first, last = min(counts), max(counts)
    step = max(-(-((last - first).days + 1) // MOST_DAY_BARS), 1)
    number = (last - first).days // step + 1
    sums = [0] * number
    for day, count in counts.items():
        sums[(day - first).days // step] += count
    width = _WIDTH / number
    parts: list[Markup] = []
    for place, count in enumerate(sums):
        begin = first + timedelta(days=place * step)
        end = min(begin + timedelta(days=step - 1), last)
        height = 34 * count / max(sums)
        body = _rect(place * width + width * 0.1, 38 - height, min(width * 0.8, 40), height, "f-k2")
        body += Markup('<rect x="{:.1f}" y="0" width="{:.1f}" height="40" class="over"/>').format(
            place * width, width
        )
        span = f"{_day(begin)}" if begin == end else f"{_day(begin)} to {_day(end)}"
        group = Markup("<g><title>{}: {}</title>{}</g>").format(span, count, body)
        if count:
            parts.append(Markup('<a href="{}">{}</a>').format(address(begin, end), group))
    parts.append(_text(0, 54, _day(first)))
    parts.append(_text(_WIDTH, 54, _day(last), "t-end"))
    return _drawing(_WIDTH, 58, f"{label}, {_day(first)} to {_day(last)}", parts)


def _day(day: date) -> str:
    return day.strftime("%d %b %Y").lstrip("0")


def share_bar(share: float, fill: str = "f-k1", width: int = 120) -> Markup:
    """Draw a bar for a share between 0 and 1."""
    return Markup(
        '<svg class="wide" viewBox="0 0 {w} 8" preserveAspectRatio="none" aria-hidden="true">'
        '<rect width="{w}" height="8" rx="3" class="f-line"/>'
        '<rect width="{s:.1f}" height="8" rx="3" class="{f}"/></svg>'
    ).format(w=width, s=max(min(share, 1.0), 0.0) * width, f=fill)


def spark(values: Sequence[float], classes: str = "s-accent", width: int = 96) -> Markup:
    """Draw a small line of values, with a dot at the last one."""
    if not values:
        return Markup()
    highest = max(values) or 1
    step = (width - 6) / max(len(values) - 1, 1)
    points = [(3 + place * step, 17 - value / highest * 13) for place, value in enumerate(values)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dot = "f-bad" if classes == "s-bad" else "f-accent"
    return Markup(
        '<svg width="{w}" height="20" viewBox="0 0 {w} 20" aria-hidden="true">'
        '<polyline points="{p}" class="{c}" stroke-width="1.5"/>'
        '<circle cx="{x:.1f}" cy="{y:.1f}" r="2" class="{d}"/></svg>'
    ).format(w=width, p=escape(line), c=classes, x=points[-1][0], y=points[-1][1], d=dot)


def intervals(before: tuple[float, float, float], after: tuple[float, float, float]) -> Markup:
    """Draw two rates with their intervals, one below the other: ``(low, rate, high)`` each."""
    parts = []
    for y, (low, rate, high), classes, dot in (
        (5, before, "s-soft", "f-soft"),
        (14, after, "s-good", "f-good"),
    ):
        parts.append(
            Markup('<path d="M{:.1f} {y}H{:.1f}" class="{c}" stroke-width="1.5"/>').format(
                low * 140, high * 140, y=y, c=classes
            )
        )
        parts.append(
            Markup('<circle cx="{:.1f}" cy="{}" r="3" class="{}"/>').format(rate * 140, y, dot)
        )
    return Markup(
        '<svg width="144" height="20" viewBox="-2 0 146 20" aria-hidden="true">{}</svg>'
    ).format(Markup("").join(parts))


def calendar(counts: dict[date, int], first: date, last: date) -> Markup:
    """Draw a square for each day, in a column for each week; darker means more."""
    start = first - timedelta(days=first.weekday())
    highest = max(counts.values(), default=1) or 1
    parts: list[Markup] = []
    month = 0
    for number in range((last - start).days + 1):
        day = start + timedelta(days=number)
        week, weekday = divmod(number, 7)
        value = counts.get(day, 0)
        fill = "f-line" if not value else f"f-q{min(4, 1 + value * 4 // (highest + 1))}"
        square = _rect(week * 14, 16 + weekday * 14, 11, 11, fill)
        says = f"{day.strftime('%d %b %Y').lstrip('0')}: {value}"
        group = Markup("<g><title>{}</title>{}</g>").format(says, square)
        if value:
            group = Markup('<a href="/sessions?q=since%3A{d}+until%3A{d}">{g}</a>').format(
                d=day, g=group
            )
        parts.append(group)
        if weekday == 0 and day.month != month:
            month = day.month
            parts.append(_text(week * 14, 10, day.strftime("%b")))
    weeks = (last - start).days // 7 + 1
    return Markup(
        '<svg width="{w}" height="116" viewBox="0 0 {w} 116" role="group" '
        'aria-label="Sessions by day">{p}</svg>'
    ).format(w=weeks * 14 + 24, p=Markup("").join(parts))


def context_curve(points: Sequence[tuple[int, int]], seq: int) -> Markup:
    """Draw how much the model was sent, response by response, with a dot at the event ``seq``."""
    if len(points) < 2:
        return Markup()
    width, height = 240, 44
    highest = max(size for _, size in points)
    first, last = points[0][0], points[-1][0]

    def place(at: int, size: int) -> tuple[float, float]:
        x = (min(max(at, first), last) - first) / max(last - first, 1)
        return 3 + x * (width - 6), height - 4 - size / highest * (height - 10)

    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in points))
    size = next((size for at, size in reversed(points) if at <= seq), points[0][1])
    x, y = place(seq, size)
    text = f"Context sent over the session, at most {highest:,} tokens"
    return Markup(
        '<svg class="wide" viewBox="0 0 {} {}" role="img" aria-label="{}">'
        '<polyline points="{}" class="s-accent" stroke-width="1.3"/>'
        '<circle cx="{:.1f}" cy="{:.1f}" r="3" class="f-accent"/></svg>'
    ).format(width, height, text, line, x, y)


@lru_cache(4096)
def strip(letters: str) -> Markup:
    """Draw the strip of a session in a list. `PageRow` explains the letters.

    All pieces of a colour are one path, because a list has a hundred strips of 44 pieces."""
    if not letters:
        return Markup("")
    paths: dict[str, list[str]] = {}
    for place, letter in enumerate(letters):
        left = 3 * place
        paths.setdefault(_STRIP[letter.lower()], []).append(f"M{left} 7h2.6v7h-2.6z")
        if letter.isupper():
            paths.setdefault("f-bad", []).append(f"M{left + 0.5} 3h1.6v13h-1.6z")
        elif letter == "+":
            dot = f"M{left - 0.4:g} 3a1.7 1.7 0 1 0 3.4 0a1.7 1.7 0 1 0-3.4 0"
            paths.setdefault("f-good", []).append(dot)
    drawn = Markup("").join(
        Markup('<path class="{}" d="{}"/>').format(fill, "".join(paths[fill]))
        for fill in ("f-person", "f-model", "f-tool", "f-bad", "f-good")
        if fill in paths
    )
    return _STRIP_SVG.format(drawn)
