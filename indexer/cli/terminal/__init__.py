"""Output and input of a command."""
