"""Elasticsearch and OpenSearch: all that neardup knows of them."""
