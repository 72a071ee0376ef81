"""Passages common to several documents of a collection."""
