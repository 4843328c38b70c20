"""Answers for the command line, the web page and the MCP server: one module per question.

An answer is a frozen value that can be written as JSON. Asking changes nothing that a user can
see; a few answers save sums in the store, so that the next answer is faster.
"""
