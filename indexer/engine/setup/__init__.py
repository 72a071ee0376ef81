"""The set-up of neardup in a search cluster, and its removal."""
