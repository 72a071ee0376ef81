"""What neardup sets up in a search cluster, and takes away again."""
