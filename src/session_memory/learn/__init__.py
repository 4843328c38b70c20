"""What sessions come down to, and what can be learned from them. Nothing here writes upstream."""
