"""Write sessions, events and usage as Parquet files.

For questions over all of them, with session-memory lake sql or any engine that reads Parquet in
hive partitions: DuckDB, Spark, Polars. What is exported stays when a session is evicted.
"""
