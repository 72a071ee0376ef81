"""Texts: features and languages, the statistics of a corpus, differences, and what of a text may be shown."""
