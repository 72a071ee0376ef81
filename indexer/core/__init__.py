"""The C core with numpy types, and algorithms on arrays."""
