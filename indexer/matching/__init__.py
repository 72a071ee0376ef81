"""The definition of near and the search for it: match rules, questions, lookups, pairs and their verification."""
