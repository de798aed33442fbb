"""One file a command, or a group of commands that share a noun."""
