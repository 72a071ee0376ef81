"""The fields in the documents of an index: neardup's own, their mappings, and the owner's fields beside them."""
