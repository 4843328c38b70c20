"""Derive events from the records of a session. All of it can be made again from the stored logs."""
