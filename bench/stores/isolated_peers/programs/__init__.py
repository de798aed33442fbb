"""Programs that run in the peers' environment: they import the peers, and nothing of Tickwise."""
