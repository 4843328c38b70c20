"""Write and read the log of skill calls.

For shells and other languages. A log is one file for each session, below
~/.session-memory/skills unless the configuration or --dir says otherwise. session-memory sync
brings it into the store, session-memory skill stats tells what comes of it.
"""
