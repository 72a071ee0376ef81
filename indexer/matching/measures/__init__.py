"""How similar documents are: by their sketches, by what they hold, exactly."""
