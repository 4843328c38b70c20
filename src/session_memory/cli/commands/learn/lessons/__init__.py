"""Manage lessons: accept patterns, write them to CLAUDE.md, measure the effect.

A lesson is a pattern that you accepted, with what to do about it. It is a Markdown file in a folder
that you may commit. Every change is a new version, and every decision is recorded. propose shows
lessons as a diff of CLAUDE.md, AGENTS.md or GROK.md, apply writes them, measure shows the effect.
"""
