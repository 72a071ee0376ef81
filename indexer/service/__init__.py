"""Questions over HTTP, for programs that are not in Python: a collection answers them, and nothing is written."""
