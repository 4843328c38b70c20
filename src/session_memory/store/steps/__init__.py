"""The migration steps, one module each. `session_memory.store.migrations` lists them in order."""
