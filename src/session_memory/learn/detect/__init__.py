"""The detectors: each module of this package finds one type of signal.

A module assigns `DETECTOR`, and `detectors` finds it by its file. Detectors run in the order of
their module names.
"""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from session_memory.learn.detector import FleetDetector, SessionDetector
from session_memory.learn.digest import Digest
from session_memory.learn.digest.steps import CallCounter
from session_memory.learn.fleet import Fleet
from session_memory.learn.signal import Signal

Detector = SessionDetector | FleetDetector


@cache
def detectors() -> dict[str, Detector]:
    """Return every detector by its type, in the order of the module names."""
    names = sorted(module.name for module in iter_modules(__path__))
    found: dict[str, Detector] = {}
    for name in names:
        detector = import_module(f"{__name__}.{name}").DETECTOR
        if detector.type != name:
            raise TypeError(f"learn/detect/{name}.py has a detector of type {detector.type}")
        found[name] = detector
    return found


def counters() -> dict[str, CallCounter]:
    """Return a new counter of each detector that has one, by the detector's type."""
    return {
        name: detector.counter()
        for name, detector in detectors().items()
        if isinstance(detector, SessionDetector) and detector.counter is not None
    }


def signals_in(digest: Digest) -> Iterator[Signal]:
    """Yield the signals of one session, from its digest alone."""
    for detector in detectors().values():
        if isinstance(detector, SessionDetector):
            yield from detector.find(digest)


def signals_across(fleet: Fleet) -> Iterator[Signal]:
    """Yield the signals that are found by comparing the sessions of a fleet."""
    for detector in detectors().values():
        if isinstance(detector, FleetDetector):
            yield from detector.find(fleet)
