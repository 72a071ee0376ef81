"""The relation of two near texts, by alignment."""
