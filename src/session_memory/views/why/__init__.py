"""Find out why a line of code is there: which session, prompt and edit wrote it, at what cost.

Two kinds of evidence are compared: the edits in the logs, and the history of the file in git. A
line is given to a session only if an edit of that session introduced it before the commit that git
names for it, or if it is not committed. Everything else is given to no session.
"""
