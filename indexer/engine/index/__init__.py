"""The fields in the documents of an index, and their mappings."""
