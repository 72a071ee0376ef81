"""HTML and XML: their text without their markup, and without what is no part of the text."""
