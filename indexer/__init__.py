"""neardup: near-duplicate documents by simhash, inside a search cluster or on one machine."""
