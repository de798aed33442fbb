"""One module per command, or per group of commands about one thing."""
