"""Fingerprints for documents that are in an index already."""
