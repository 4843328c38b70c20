"""The two kinds of detectors. A detector finds one type of signal and has texts that explain it.

A signal is one thing that stands out in a session, such as a repeated error. To add a detector,
write a module below ``learn/detect`` that assigns `DETECTOR`; no list has to be edited.
"""

from collections.abc import Callable, Iterator

import msgspec

from session_memory.learn.digest import Digest
from session_memory.learn.digest.steps import CallCounter
from session_memory.learn.fleet import Fleet
from session_memory.learn.signal import Signal


class _DetectorFields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of both kinds of detectors.

    ``advice`` tells a person what to do about a pattern of this type. ``lesson`` tells an agent the
    same; it is empty if a person has to write it. In both texts, ``{locus}`` and ``{detail}`` stand
    for the locus and the detail of the pattern.

    Two fields say when a pattern of this type is noise (see `session_memory.learn.noise`). With
    ``about_session`` it is always noise, because it only says how a session went. With
    ``about_tool`` it is noise if the tool is the agent's own, and not a shell or an MCP server. The
    locus then begins with the tool, or is "shell: PROGRAM".
    """

    type: str
    title: str
    advice: str = "{detail}"
    lesson: str = ""
    about_session: bool = False
    about_tool: bool = False


class SessionDetector(_DetectorFields, frozen=True, kw_only=True):
    """A detector whose function finds signals in one digest. These are stored with the digest.

    A detector that needs more about the calls than the digest holds gives a ``counter``. The
    counter sees every finished call in order, and ``digest.counted[type]`` is its result.
    """

    find: Callable[[Digest], Iterator[Signal]]
    counter: Callable[[], CallCounter] | None = None


class FleetDetector(_DetectorFields, frozen=True, kw_only=True):
    """A detector whose function finds signals by comparing sessions.

    These signals are not stored. They are computed again whenever patterns are computed.
    """

    find: Callable[[Fleet], Iterator[Signal]]
