"""Batches without a store: sketches and clusters of a collection as files of Parquet, by one process or by Spark."""
