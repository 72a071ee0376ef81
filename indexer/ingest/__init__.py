"""The way of documents into a store: sources, workers, and failures."""
