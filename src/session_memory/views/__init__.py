"""Answers to the questions the surfaces ask: frozen, JSON-ready, and read-only.

One module per question. Asking never changes the store.
"""
