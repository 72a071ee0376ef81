"""Requests to a search engine."""
