"""What match rules find of the pairs that are truly alike."""
