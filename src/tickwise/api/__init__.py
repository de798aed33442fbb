"""The HTTP API: everything that the dashboard and the command line can do."""
