"""Texts: features, languages, statistics, differences, safe display."""
