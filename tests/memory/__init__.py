"""The Python API: Memory and what it returns."""
