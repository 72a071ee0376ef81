"""The order in time of documents that are versions of each other, by what each says of itself."""
