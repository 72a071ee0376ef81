"""The order in time of versions of a work."""
