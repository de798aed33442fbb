"""The command line: `main` starts a command, `command` and `client` ask the API, `output` prints."""
