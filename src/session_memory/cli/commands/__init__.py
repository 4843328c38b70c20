"""One command per file; the file's ``command`` is what `session_memory.cli` loads by name."""
