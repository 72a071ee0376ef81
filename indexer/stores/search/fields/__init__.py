"""What stands in the documents of an index: neardup's fields, their mappings, and the owner's fields beside them."""
