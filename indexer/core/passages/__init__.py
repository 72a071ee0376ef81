"""Passages found in several documents of a collection: from the words of each to maximal runs with all places."""
