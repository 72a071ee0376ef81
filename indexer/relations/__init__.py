"""The relation of two near texts: their differences, by alignment, and the decision to remove one."""
