"""See what sessions cost."""
