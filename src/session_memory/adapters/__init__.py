"""Adapters translate one agent's native records into events; they never see the store.

An adapter is a package that exports ``AGENT``, a `session_memory.adapters.agent.Agent`. The page
``docs/adding-an-adapter.md`` shows how to write one.
"""
