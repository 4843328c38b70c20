"""Learn from what went well and what went wrong."""
