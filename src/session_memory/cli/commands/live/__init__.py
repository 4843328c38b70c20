"""Follow agents while they work, and work on live sessions."""
