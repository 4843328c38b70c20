"""Worker processes: work that writes nothing, done on all cores while one process writes."""
