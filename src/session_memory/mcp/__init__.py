"""The MCP server ``session-memory mcp``: agents ask the memory over standard input and output.

``protocol`` speaks JSON-RPC, ``serving`` moves lines and limits time, ``catalog`` describes the
tools, and ``answers`` has one module for each of them. Until a tool is called, nothing but the
standard library is loaded.
"""
