"""Texts: features and languages, the statistics of a corpus, differences, and safe ways to show a text."""
