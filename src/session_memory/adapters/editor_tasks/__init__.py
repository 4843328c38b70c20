"""Tasks of Cline, Roo Code and old Kilo Code: two documents per task, rewritten for each message.

Evidence: docs/formats/roo.md.
"""
