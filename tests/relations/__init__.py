"""Tests of `indexer.relations`."""
