"""Keys of sketches: how they are packed, and what lookups ask for."""
