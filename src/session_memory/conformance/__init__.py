"""Run the newest releases of coding agents with a scripted model, and compare what our adapters
read from their logs with what the script did.

The scripted model is a local server that answers as a script says. Start at `kit.py`. A scenario
(`scenarios.py`) says what happens, the same for all agents; a driver (`drivers/`) says how one
agent does it.
"""
