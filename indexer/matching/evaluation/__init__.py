"""Evaluation of match rules."""
