"""Files that a command writes: pairs, and documents that a store refused."""
