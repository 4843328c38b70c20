"""Drives the newest releases of coding agents against a scripted model, and compares what our
adapters read from their logs with what the script did.

Start at `kit.py`. A scenario (`scenarios.py`) says what happens in words of no agent; a driver
(`drivers/`) says how its agent does it.
"""
