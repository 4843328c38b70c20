"""Hooks: an agent starts ``session-memory hook AGENT EVENT`` when something happens to it.

- ``failure``: a command failed. If the same error was resolved before, the agent gets what helped.
- ``end``: a session, or a turn of it, ended. It is collected in the background.
- ``prompt`` and ``start`` tell the agent about earlier sessions. They are off by default.

``running`` reads standard input, asks the module of the event, and prints what the agent expects,
or nothing. A hook never fails: it stores its errors, and ``session-memory doctor`` shows them.

The agent waits for the answer, so nothing is imported here before it is needed.
"""
