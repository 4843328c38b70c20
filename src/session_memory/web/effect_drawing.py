"""Draw the effect of a lesson: two rates with 95 % intervals, and the sessions below them."""

from collections.abc import Callable, Iterator, Sequence

import msgspec
from markupsafe import Markup

from session_memory.learn.measure import ComparedSession, MeasuredSide
from session_memory.views.figures import plural

WIDTH, LEFT, RIGHT = 900, 70.0, 890.0
STEP, RADIUS = 13.0, 4.5
_GAP = 22.0


class EffectSide(msgspec.Struct, frozen=True):
    name: str
    measured: MeasuredSide
    sessions: list[ComparedSession]

    @property
    def words(self) -> str:
        one = self.measured
        if one.rate is None:
            return f"{self.name}: no session yet"
        return (
            f"{self.name}: {one.showing} of {plural(one.sessions, 'session')} had the problem,"
            f" {one.rate:.0%} (95 % interval {one.low:.0%} to {one.high:.0%})"
        )


def effect_drawing(sides: Sequence[EffectSide], address: Callable[[str], str]) -> Markup:
    """Draw the sides (before and after the lesson): each has a bar on an axis from 0 to 100 %, and
    a dot for each of its sessions."""
    parts: list[Markup] = []
    y = 20.0
    for side in sides:
        parts.append(Markup('<text x="60" y="{}" class="t-end">{}</text>').format(y + 4, side.name))
        parts.extend(_interval(side.measured, y))
        y += 18
        rows = list(_dots(side.sessions, y, address))
        parts.extend(rows)
        per_row = int((RIGHT - LEFT) / STEP)
        y += STEP * max(-(-len(rows) // per_row), 1) + _GAP
    for share in range(5):
        x = LEFT + (RIGHT - LEFT) * share / 4
        place = "t-end" if share == 4 else "t-mid" if share else ""
        parts.append(Markup('<path d="M{:.1f} 6V{:.1f}" class="ax"/>').format(x, y - 14))
        parts.append(
            Markup('<text x="{:.1f}" y="{:.1f}" class="{}">{} %</text>').format(
                x, y, place, share * 25
            )
        )
    label = "; ".join(side.words for side in sides)
    return Markup(
        '<svg class="wide" viewBox="0 0 {} {:.0f}" role="img" aria-label="{}">{}</svg>'
    ).format(WIDTH, y + 6, label, Markup("").join(parts))


def _interval(side: MeasuredSide, y: float) -> Iterator[Markup]:
    if side.rate is None:
        return
    low, rate, high = (LEFT + (RIGHT - LEFT) * v for v in (side.low, side.rate, side.high))
    yield Markup(
        '<path d="M{l:.1f} {y}H{h:.1f}M{l:.1f} {a}V{b}M{h:.1f} {a}V{b}" class="s-soft"'
        ' stroke-width="1.5"/><circle cx="{r:.1f}" cy="{y}" r="5" class="f-accent"/>'
    ).format(l=low, h=high, r=rate, y=y, a=y - 5, b=y + 5)


def _dots(
    sessions: Sequence[ComparedSession], top: float, address: Callable[[str], str]
) -> Iterator[Markup]:
    per_row = int((RIGHT - LEFT) / STEP)
    for number, one in enumerate(sessions):
        row, column = divmod(number, per_row)
        says = f"{one.uid}: {'had the problem' if one.shows else 'did not have it'}"
        yield Markup(
            '<a href="{}"><g><title>{}</title>'
            '<circle cx="{:.1f}" cy="{:.1f}" r="{}" class="{}"/></g></a>'
        ).format(
            address(one.uid),
            says,
            LEFT + column * STEP + RADIUS,
            top + row * STEP + RADIUS,
            RADIUS,
            "f-bad" if one.shows else "hollow",
        )
