"""The base class of records: every field has a check that no value can bypass.

The annotation of a field holds its check (``seq: Count``). The check runs on construction, in
`ValidatedRecord.from_dict` and on every assignment. So every record that exists can be written and
read back.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, fields
from functools import wraps
from typing import Annotated, Any, ClassVar, Self, TypeVar

from session_memory.core.errors import InvalidRecord
from session_memory.core.ids import check_flavor, check_log_id, check_native_id, check_uid
from session_memory.core.text import short_repr
from session_memory.core.time import check_rfc3339, normalize_time

Check = Callable[[str, Any], Any]
"""Returns the value to store, or raises an `InvalidRecord` that names the field."""

MAX_INT = 2**63 - 1  # The largest integer that both databases can store.


def rejected(name: str, value: object, expected: str) -> InvalidRecord:
    return InvalidRecord(f"{name} must be {expected}, not {short_repr(value)}", field=name)


def check_text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    raise rejected(name, value, "text")


def check_maybe_text(name: str, value: Any) -> str | None:
    # `optional(check_text)` would be slower, and half the fields of an event use this check.
    if value is None or isinstance(value, str):
        return value
    raise rejected(name, value, "text")


def check_nonempty_text(name: str, value: Any) -> str:
    if isinstance(value, str) and value:
        return value
    raise rejected(name, value, "text that is not empty")


def check_text_list(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, tuple | list) and all(isinstance(word, str) and word for word in value):
        return tuple(value)
    raise rejected(name, value, "a list of texts")


def check_flag(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise rejected(name, value, "true or false")


def check_count(name: str, value: Any) -> int:
    # `type`, because `isinstance` accepts a bool as an int.
    if type(value) is int and 0 <= value <= MAX_INT:
        return value
    raise rejected(name, value, "an integer of 0 or more")


def check_positive(name: str, value: Any) -> int:
    if type(value) is int and 1 <= value <= MAX_INT:
        return value
    raise rejected(name, value, "an integer of 1 or more")


def check_integer(name: str, value: Any) -> int:
    if type(value) is int and -MAX_INT - 1 <= value <= MAX_INT:
        return value
    raise rejected(name, value, "an integer")


def check_seconds(name: str, value: Any) -> float:
    # Comparisons with NaN are false, so the range check rejects NaN and infinity.
    if type(value) in (int, float) and 0 <= value <= sys.float_info.max:
        return float(value)
    raise rejected(name, value, "a finite number of 0 or more")


def check_time(name: str, value: Any) -> str:
    return normalize_time(value, name)


def check_json(name: str, value: Any) -> Any:
    """A copy of ``value``. Raises if JSON cannot represent it."""
    try:
        return _copied(name, value)
    except RecursionError:
        raise InvalidRecord(f"{name} is nested too deeply", field=name) from None


def _copied(name: str, value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float() if abs(value) <= sys.float_info.max:
            return value
        case list() | tuple():
            return [_copied(name, item) for item in value]
        case dict() if all(isinstance(key, str) for key in value):
            return {key: _copied(f"{name}.{key}", item) for key, item in value.items()}
    raise rejected(name, value, "a JSON value")


def optional(check: Check) -> Check:
    """A check that accepts None, and otherwise applies ``check``."""
    return lambda name, value: None if value is None else check(name, value)


def one_of(values: Sequence[str]) -> Check:
    expected = f"one of {', '.join(values)}"
    known = frozenset(values)

    def check(name: str, value: Any) -> str:
        if isinstance(value, str) and value in known:
            return value
        raise rejected(name, value, expected)

    return check


Text = Annotated[str, check_text]
MaybeText = Annotated[str | None, check_maybe_text]
NonEmptyText = Annotated[str, check_nonempty_text]
TextList = Annotated[tuple[str, ...], check_text_list]
Flag = Annotated[bool, check_flag]
Count = Annotated[int, check_count]
MaybeCount = Annotated[int | None, optional(check_count)]
Positive = Annotated[int, check_positive]
MaybeInteger = Annotated[int | None, optional(check_integer)]
Seconds = Annotated[float, check_seconds]
MaybeTime = Annotated[str | None, optional(check_time)]
Timestamp = Annotated[str, check_rfc3339]
Json = Annotated[Any, check_json]
Flavor = Annotated[str, check_flavor]
LogId = Annotated[str, check_log_id]
NativeId = Annotated[str, check_native_id]
Uid = Annotated[str, check_uid]
MaybeUid = Annotated[str | None, optional(check_uid)]


@dataclass(eq=False)
class ValidatedRecord:
    """The base of all records: validated fields, plus unknown fields that a newer release wrote.

    Two records are equal when all their fields are equal, unknown ones included.
    """

    # `dataclasses.replace` passes an `InitVar` on, so unknown fields survive it.
    _extra: InitVar[Any] = field(default=None, kw_only=True)

    _checks: ClassVar[dict[str, Check]] = {}
    _required: ClassVar[frozenset[str]] = frozenset()
    _omitted_if_empty: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, required: Iterable[str] = ()) -> None:
        """``required``: fields that `from_dict` needs although they have a default."""
        annotations = cls.__annotations__.items()
        cls._checks = {n: t.__metadata__[0] for n, t in annotations if hasattr(t, "__metadata__")}
        cls._required = frozenset(cls._checks.keys() - vars(cls).keys()).union(required)

    def __post_init__(self, _extra: Any) -> None:
        self._agree()
        # Once ``_extra`` is set the record is complete: each assignment also calls `_agree`.
        self.__dict__["_extra"] = check_json(type(self).__name__, _extra) if _extra else {}

    def __setattr__(self, name: str, value: Any) -> None:
        check = self._checks.get(name)
        if check is None:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        values = self.__dict__
        if "_extra" in values:
            self._amend(name, check(name, value))
        else:
            values[name] = check(name, value)

    def _amend(self, name: str, value: Any) -> None:
        """Change one field of a complete record. If that fails, the record stays unchanged."""
        before = self.__dict__[name]
        self.__dict__[name] = value
        try:
            self._agree()
        except InvalidRecord:
            self.__dict__[name] = before
            raise

    def _agree(self) -> None:
        """Raise if fields that are valid alone contradict each other."""

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if type(other) is type(self) else NotImplemented

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: the fields in their order, then the unknown fields."""
        values = {name: _plain(value) for name, value in self.__dict__.items() if name != "_extra"}
        for name in self._omitted_if_empty:
            if values[name] is None or values[name] is False:
                del values[name]
        return {**values, **_plain(self.__dict__["_extra"])}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), sort_keys=True, allow_nan=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make a record of a mapping that `to_dict` of any release returned.

        A null counts as missing.
        """
        if not isinstance(data, Mapping):
            raise rejected(cls.__name__, data, "an object")
        known: dict[str, Any] = {}
        unknown: dict[str, Any] = {}
        for name, value in data.items():
            if name not in cls._checks:
                unknown[name] = value
            elif value is not None:
                known[name] = value
        if missing := sorted(cls._required - known.keys()):
            raise InvalidRecord(f"{missing[0]} is missing", field=missing[0])
        return cls(**known, _extra=unknown) if unknown else cls(**known)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            message = f"{cls.__name__} is not JSON: {error}"
            raise InvalidRecord(message, field=cls.__name__) from None
        return cls.from_dict(data)


R = TypeVar("R", bound=ValidatedRecord)


def quick(cls: type[R]) -> type[R]:
    """Make the constructor of a dataclass check only the given values, not the defaults.

    This halves the time of the constructor, for records that exist by the hundred thousand. The
    generated constructor still handles positional and wrong arguments.
    """
    thorough = cls.__init__
    checks = cls._checks
    required = cls._required
    defaults = {f.name: f.default for f in fields(cls)}

    @wraps(thorough)
    def __init__(self: R, *args: Any, **given: Any) -> None:
        if args or not required <= given.keys() <= checks.keys():
            thorough(self, *args, **given)
            return
        values = self.__dict__
        values.update(defaults)
        for name, value in given.items():
            values[name] = checks[name](name, value)
        self.__post_init__(None)

    cls.__init__ = __init__  # type: ignore[assignment]
    return cls


def nested(record: type[ValidatedRecord]) -> Check:
    """Return a check that accepts an instance of the class ``record``, or the mapping that its
    `to_dict` makes."""

    def check(name: str, value: Any) -> ValidatedRecord:
        if isinstance(value, record):
            return value
        if not isinstance(value, Mapping):
            raise rejected(name, value, "an object")
        try:
            return record.from_dict(value)
        except InvalidRecord as error:
            raise error.within(name) from None

    return check


def each(check: Check) -> Check:
    """A check for a list whose items all pass ``check``. The list is stored as a tuple."""

    def check_all(name: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, tuple | list):
            raise rejected(name, value, "a list")
        return tuple(check(f"{name}[{place}]", item) for place, item in enumerate(value))

    return check_all


def _plain(value: Any) -> Any:
    match value:
        case ValidatedRecord():
            return value.to_dict()
        case tuple() | list():
            return [_plain(item) for item in value]
        case dict():
            return {key: _plain(item) for key, item in value.items()}
    return value
