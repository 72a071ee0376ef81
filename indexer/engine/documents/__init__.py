"""The documents of an index owned by others: their text, and the fingerprints beside it."""
