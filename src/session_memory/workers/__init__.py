"""Worker processes: work that needs no store, done on all cores while one process writes."""
