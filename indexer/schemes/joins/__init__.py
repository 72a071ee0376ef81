"""All pairs of sketches that may be similar enough."""
