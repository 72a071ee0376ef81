"""Reports on the clusters of a store."""
