"""Real servers for tests, from PyPI packages alone: each `server()` is a block that starts one and ends it."""
