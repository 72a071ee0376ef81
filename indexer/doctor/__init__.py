"""The checks for what is wrong with a store, or soon will be: versions, privileges, mappings, half-done work."""
