"""The version of the digest's format."""

DIGEST_VERSION = 2
"""The number of the digest's format. It grows with a field's meaning or with redaction rules."""
