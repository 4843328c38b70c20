"""The settings page: the theme of the page, and the configuration as it was read."""

from starlette.responses import RedirectResponse, Response

from session_memory.core.errors import InvalidRecord
from session_memory.render.paths import short_path
from session_memory.web.asked import THEME_COOKIE, Asked

THEMES = {"": "as the system", "light": "light", "dark": "dark"}
A_YEAR_S = 365 * 86_400


def settings(asked: Asked) -> Response:
    config = asked.memory.config
    return asked.page(
        "settings",
        themes=list(THEMES.items()),
        place=short_path(asked.memory.place),
        values=[
            ("limit for a day", config.budget.day and f"${config.budget.day}"),
            ("limit for a month", config.budget.month and f"${config.budget.month}"),
            ("secrets are masked while collecting", "yes" if config.redact else "no"),
            ("own prices", ", ".join(config.prices) or "none"),
        ],
    )


def choose_theme(asked: Asked) -> Response:
    """Save the choice of a theme in a cookie. The store is not changed."""
    theme = asked.form.get("theme", "")
    if theme not in THEMES:
        raise InvalidRecord("theme must be light or dark", field="theme")
    answer = RedirectResponse("/settings", 303)
    if theme:
        answer.set_cookie(THEME_COOKIE, theme, max_age=A_YEAR_S, httponly=True, samesite="strict")
    else:
        answer.delete_cookie(THEME_COOKIE)
    return answer
