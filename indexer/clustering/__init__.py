"""Clusters of near-duplicates: grouping, assignment, documents as they arrive, and what to do with copies."""
