"""Analyze sessions, find recurring problems, and turn them into lessons and training data."""
