"""Log skill calls, and show how often skills pass.

A skill is a task that an agent does again and again, such as reviewing a change. Each call of it is
one entry in the skill log, with its attempts (tries, perhaps with different models) and its result:
pass, fail or skip. The log of a session is one file, below ~/.session-memory/skills or where the
configuration or --dir says. The command append adds an entry from a shell or from any language;
Python has the class SkillLog. session-memory sync brings the logs into the store. The command stats
shows pass rates and which model to use.
"""
