"""The store in a search cluster."""
