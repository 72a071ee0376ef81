"""From sketches to clusters in files of Parquet, a partition at a time."""
