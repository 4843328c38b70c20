"""Export sessions as Parquet files, and query them in SQL.

The files can be read by lake sql or any program that reads Parquet with hive partitions: DuckDB,
Spark, Polars. Exported rows stay when a session is evicted (its log is moved to the archive).
"""
