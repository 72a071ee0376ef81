"""What counts as near, and finding it: match rules, questions, lookups, pairs and their verification."""
