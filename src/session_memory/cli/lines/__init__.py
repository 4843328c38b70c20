"""Answers of views as lines for a terminal. Modules here do not query the store."""
