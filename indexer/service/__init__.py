"""Questions over HTTP, for programs in any language: a collection answers them, and nothing is written."""
