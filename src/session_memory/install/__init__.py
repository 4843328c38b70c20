"""Connect coding agents with the memory: their MCP servers, hooks and skills.

``agents`` has one module for each agent with the files it reads. ``planning`` compares them with
what is wanted, and ``record`` keeps what was changed, so that everything can be undone. Texts are
edited in place (``json_edit``, ``toml_edit``): nothing but our own keys changes.
"""
