"""From documents to sketches in Parquet files, part by part."""
