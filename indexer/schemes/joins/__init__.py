"""All pairs of sketches with enough in common."""
