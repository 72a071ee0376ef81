"""Elasticsearch and OpenSearch: everything neardup knows of them."""
