"""Find secrets in text and mask them. Nothing here reads or writes files.

Most callers need only ``mask`` and ``secrets``.
"""

from session_memory.core.late_names import late_names

TYPE_CHECKING = False  # As in `late_names`.
if TYPE_CHECKING:
    from session_memory.redact.decoding import (
        plain_form,
    )
    from session_memory.redact.detection import (
        KINDS,
        Secret,
    )
    from session_memory.redact.masking import (
        Masker,
        hide,
        hide_lines,
        mask,
        secrets,
    )
    from session_memory.redact.nested_values import (
        mask_cut,
        mask_each,
        mask_together,
        mask_values,
    )
    from session_memory.redact.rules import (
        VERSION,
    )

__all__ = [
    "KINDS",
    "Masker",
    "Secret",
    "VERSION",
    "hide",
    "hide_lines",
    "mask",
    "mask_cut",
    "mask_each",
    "mask_together",
    "mask_values",
    "plain_form",
    "secrets",
]

__getattr__ = late_names(
    __name__,
    {
        "KINDS": "detection",
        "Masker": "masking",
        "Secret": "detection",
        "VERSION": "rules",
        "hide": "masking",
        "hide_lines": "masking",
        "mask": "masking",
        "mask_cut": "nested_values",
        "mask_each": "nested_values",
        "mask_together": "nested_values",
        "mask_values": "nested_values",
        "plain_form": "decoding",
        "secrets": "masking",
    },
)
