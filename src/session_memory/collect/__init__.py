"""Collect: discover the agents' logs, read what is new, and hand it to ``derive``."""
