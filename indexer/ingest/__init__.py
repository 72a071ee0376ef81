"""The way of documents into a store: sources, what workers make of them, and what did not go in."""
