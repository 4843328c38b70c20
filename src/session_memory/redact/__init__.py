"""Find secrets in text and mask them. Nothing here reads or writes files.

Most callers need only ``mask`` and ``secrets``.
"""

from session_memory.redact.decoding import plain_form
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
    "plain_form",
    "secrets",
]
