"""HTTP: for now, whether a node is alive and ready."""
