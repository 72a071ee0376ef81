"""The store in a search cluster: its parts share a context and a lookup, and `store` puts them together."""
