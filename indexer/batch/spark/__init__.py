"""Batches on Spark: the work of `indexer.batch` by many machines, with the same result."""
