"""Tasks of Cline and Roo Code in editors: two documents per task, rewritten for each message.

Evidence: docs/formats/roo.md.
"""
