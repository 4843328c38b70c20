"""The steps of the schema, one module each; `session_memory.store.migrations` lists them."""
