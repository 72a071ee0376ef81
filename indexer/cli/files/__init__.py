"""Files written by a command: pairs, and documents refused by a store."""
