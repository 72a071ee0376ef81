"""Requests to a search engine: who may send them, what its answers mean, many of them at once."""
