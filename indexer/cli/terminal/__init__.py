"""What a command says and hears: answers, talk, progress, Ctrl-C, the list of commands."""
