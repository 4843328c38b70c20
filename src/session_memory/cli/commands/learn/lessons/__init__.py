"""Keep what was learned: accept, reject, edit, merge.

A lesson is a pattern that a person accepted, with what to do about it: a Markdown file in a
folder that you may commit. Every change is a new version, every decision is kept. propose
shows lessons for CLAUDE.md, AGENTS.md or GROK.md, apply writes them, measure says if it helped.
"""
