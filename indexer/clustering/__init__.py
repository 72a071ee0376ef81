"""Clusters of near-duplicates: grouping, assignment, documents as they arrive, and the removal of copies."""
