"""Answers of views as lines of a terminal. No module here asks the store."""
