"""The C core with the types of Python and numpy, and what needs arrays alone."""
