"""The definition of an endpoint of the JSON API: path, parameters, and the answering function."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from session_memory.web.asked import Asked

MOST, USUAL = 500, 50


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of an endpoint. ``choices`` are all its values; without them it is a text."""

    name: str
    says: str
    choices: tuple[str, ...] = ()
    is_number: bool = False
    is_required: bool = False


class Endpoint(msgspec.Struct, frozen=True):
    path: str
    says: str
    answer: Callable[["Asked"], dict[str, Any]]
    parameters: tuple[Parameter, ...] = ()
