"""Tools for testing adapters and code that uses the store. They are a part of the package, so that
other packages can use them. The main modules:

- `adapters.AdapterContract`: a pytest suite that any adapter can run over its samples
- `claude.ClaudeHome`, `codex.CodexHome`, `grok.GrokHome`: write logs as the agents write them
- `collecting`: a store of such logs, and checks that hold for every store
- `stores`, `postgres`: empty stores on SQLite and PostgreSQL, and a PostgreSQL server for tests
- `agents.installed`: replaces the installed adapters by others while a test runs, or adds some
- `planted`: sessions in which a detector must find one known thing, and others with nothing to find
- `secrets`: invented secrets, and texts that only look like secrets
"""
