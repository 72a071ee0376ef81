"""The relation of two near texts: what differs between them, by their alignment, and which of them may go."""
