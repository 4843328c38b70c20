"""Hooks: an agent starts ``session-memory hook AGENT EVENT`` when something happens to it.

``failure``: a command failed. If the same error was resolved before in this repository, the agent
gets what resolved it. ``end``: a session ended and is collected. ``prompt`` and ``start`` are off
unless installed. ``running`` reads standard input, asks the module of the event, and prints what
the agent expects, or nothing. A hook never fails: the reason is kept for ``session-memory doctor``.

The agent waits for the answer, so nothing is imported here before it is needed.
"""
