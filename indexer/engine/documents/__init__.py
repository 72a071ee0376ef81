"""The documents of an owner's index, and the fingerprints beside them."""
