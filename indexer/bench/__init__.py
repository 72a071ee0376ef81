"""Measurements of the project: `python -m indexer.bench` runs them, README shows what they print."""
