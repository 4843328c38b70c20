"""Drive real coding agents against a scripted model, for ``benchmarks/remember_agents.py``."""
