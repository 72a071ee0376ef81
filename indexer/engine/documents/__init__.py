"""The documents of an index that others own: their text, and the fingerprints that are put beside it."""
