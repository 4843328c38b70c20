"""Let other frameworks store their sessions as live sessions. Each module needs its extra."""
