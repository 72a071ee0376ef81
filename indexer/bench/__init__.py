"""Measurements of the project: `python -m indexer.bench` runs them, docs/figures.md shows what they print."""
