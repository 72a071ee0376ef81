"""Output and input of a command: answers, talk, progress, Ctrl-C, the list of commands."""
