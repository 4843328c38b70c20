"""Log skill calls, and show how often skills pass.

A log is one file for each session, below ~/.session-memory/skills or where the configuration or
--dir says. append is for shells and other languages. sync brings the logs into the store; stats
shows pass rates and which model to use.
"""
