"""Secrets in text: found by a set of rules, masked wherever text leaves the store.

``mask`` and ``secrets`` are all that most callers need; nothing here reads or writes anything.
"""

from session_memory.redact.detection import KINDS, Secret
from session_memory.redact.masking import Masker, hide, hide_lines, mask, secrets
from session_memory.redact.nested_values import mask_cut, mask_values
from session_memory.redact.rules import VERSION

__all__ = [
    "KINDS",
    "VERSION",
    "Masker",
    "Secret",
    "hide",
    "hide_lines",
    "mask",
    "mask_cut",
    "mask_values",
    "secrets",
]
