"""Retention and care of a store. The main modules:

- keep it small: `units`, `passes`, `evict`, `retention_run`, `restore`, `archive_check`
- forget sessions: `forget_plan`, `forget_traces`, `forget`, `archive_edit`, `proof`
- keep the demo out: `demo_sessions`
- the Parquet lake: `lake_files`, `lake`, `lake_query`
- check it: `verification`; move it: `portable_file`, `portable_reading`,
  `portable_import`; write logs back: `native_files`

A session is evicted only after it was analyzed and its logs are in a verified archive. There are
two exceptions: the user can turn the archive off, and over the hard cap a session whose analysis
failed is evicted too, which the run reports as data loss.
"""
