"""Tasks of Cline and its relatives in VS Code: two documents per task, rewritten for each message.

Evidence: docs/formats/roo.md.
"""
