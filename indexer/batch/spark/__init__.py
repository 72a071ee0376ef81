"""Batches on Spark: what of `indexer.batch` one machine does, done by many, with the same result."""
