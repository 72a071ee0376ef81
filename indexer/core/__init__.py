"""The C core with Python and numpy types, and algorithms on plain arrays."""
