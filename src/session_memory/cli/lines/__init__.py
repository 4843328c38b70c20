"""Turn answers of views into lines for a terminal. Modules here do not query the store."""
