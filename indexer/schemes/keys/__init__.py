"""Keys of sketches: packing, and the keys lookups ask for."""
