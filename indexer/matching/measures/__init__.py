"""The similarity of documents: by sketches, by content, exactly."""
