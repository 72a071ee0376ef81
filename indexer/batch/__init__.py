"""Sketches and clusters of a collection as Parquet files, without a store."""
