"""Batches on Spark, with the same result as one machine."""
