"""Requests to a search cluster: who may send them, what its answers mean, many of them at once."""
