"""Evaluation of match rules: how many of the truly alike pairs they find."""
