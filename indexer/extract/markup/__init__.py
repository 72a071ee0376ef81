"""HTML and XML: their text without markup and boilerplate."""
