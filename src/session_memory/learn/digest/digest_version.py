"""The version of the digest's format."""

DIGEST_VERSION = 2
"""The number of the digest's format.

Raise it if a field changes its meaning, or if the rules that mask secrets change.
"""
