"""Adapters translate one agent's native records into events; they never see the store.

An adapter is a module with ``FLAVOR``, ``VERSION``, ``roots``, ``discover``, ``recognizes`` and
``read`` (`session_memory.adapters.base.Adapter`). ``docs/adding-an-adapter.md`` walks through one.
"""
