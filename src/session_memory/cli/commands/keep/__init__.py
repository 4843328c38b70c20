"""Collect sessions, keep them, archive them and hand them on."""
