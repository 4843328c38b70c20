"""Lines in a picture: an SVG with logarithmic axes, light and dark, with nothing to load."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 640, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 130, 36, 40
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#444}.t{font-size:14px;fill:#111}"
    ".g{stroke:#ddd}.l{fill:none;stroke-width:2}"
    "@media(prefers-color-scheme:dark){text{fill:#bbb}.t{fill:#eee}.g{stroke:#444}"
    ".b{fill:#161616}}.b{fill:#fff}"
)
_COLOURS = ("#2563eb", "#d97706", "#059669", "#db2777")


@dataclass(frozen=True)
class Line:
    """``points`` are pairs of what is given and what was measured, both above zero."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class _Axis:
    """Powers of ten between the ends, spread over so many pixels."""

    low: int
    high: int
    start: float
    length: float

    @classmethod
    def around(cls, values: Iterable[float], start: float, length: float) -> "_Axis":
        found = [math.log10(value) for value in values]
        low, high = math.floor(min(found)), math.ceil(max(found))
        return cls(low, max(high, low + 1), start, length)

    def place(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.start + share * self.length, 1)

    @property
    def steps(self) -> list[float]:
        return [10.0**power for power in range(self.low, self.high + 1)]


def plot(
    title: str, lines: Sequence[Line], x_label: Callable[[float], str], y_unit: str = "s"
) -> str:
    points = [point for line in lines for point in line.points]
    across = _Axis.around((x for x, _ in points), _LEFT, _WIDTH - _LEFT - _RIGHT)
    up = _Axis.around((y for _, y in points), _HEIGHT - _BOTTOM, -(_HEIGHT - _TOP - _BOTTOM))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<rect class="b" width="{_WIDTH}" height="{_HEIGHT}"/>',
        f'<text class="t" x="{_LEFT}" y="20">{escape(title)}</text>',
    ]
    for x in across.steps:
        at = across.place(x)
        parts += [
            f'<line class="g" x1="{at}" y1="{_TOP}" x2="{at}" y2="{_HEIGHT - _BOTTOM}"/>',
            f'<text x="{at}" y="{_HEIGHT - 18}" text-anchor="middle">{escape(x_label(x))}</text>',
        ]
    for y in up.steps:
        at = up.place(y)
        parts += [
            f'<line class="g" x1="{_LEFT}" y1="{at}" x2="{_WIDTH - _RIGHT}" y2="{at}"/>',
            f'<text x="{_LEFT - 8}" y="{at + 4}" text-anchor="end">{y:g} {y_unit}</text>',
        ]
    for colour, line in zip(_COLOURS, lines, strict=False):
        places = [(across.place(x), up.place(y)) for x, y in line.points]
        drawn = " ".join(f"{x},{y}" for x, y in places)
        x, y = places[-1]
        parts += [
            f'<polyline class="l" stroke="{colour}" points="{drawn}"/>',
            *(f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in places),
            f'<text x="{x + 8}" y="{y + 4}" style="fill:{colour}">{escape(line.name)}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])
