"""Measurements of the project: `make bench` runs them, docs/figures.md shows what they print."""
