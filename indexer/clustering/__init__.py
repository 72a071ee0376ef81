"""Clusters of near-duplicates: made, kept up to date, and pruned."""
