"""Derive: what the raw records of a session mean. Everything here can be built again from raw."""
