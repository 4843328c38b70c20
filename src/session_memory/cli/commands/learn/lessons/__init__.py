"""Turn patterns into lessons that agents read, and measure them.

A lesson is a pattern that you accepted, with what to do about it. It is a Markdown file in a folder
that you may commit. Every change is a new version, and every decision is recorded. propose shows
lessons as a diff of instruction files, such as CLAUDE.md or AGENTS.md, apply writes them, measure
shows the effect.
"""
