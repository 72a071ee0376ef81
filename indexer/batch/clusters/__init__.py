"""From sketches to clusters in Parquet files, partition by partition."""
