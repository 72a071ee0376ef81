"""Sketches and clusters of a collection as files of Parquet, without a store."""
