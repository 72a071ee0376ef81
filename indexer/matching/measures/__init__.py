"""The similarity of documents: by their sketches, by what they hold, exactly."""
