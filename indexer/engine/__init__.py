"""What neardup knows of Elasticsearch and OpenSearch."""
