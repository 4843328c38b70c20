"""Transcripts as files: one module for each format, each a stream of text made of items."""
