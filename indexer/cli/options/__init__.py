"""Options shared by several commands, each defined once."""
