"""Requests to a search engine: access, the meaning of answers, many requests at once."""
