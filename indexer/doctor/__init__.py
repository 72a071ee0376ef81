"""What is wrong with a store, or soon will be: versions, privileges, mappings, and what was left half done."""
