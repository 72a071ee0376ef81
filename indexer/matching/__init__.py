"""Match rules, questions, lookups, pairs and their verification."""
