"""What the MongoDB store promises: the suite of every store, and races on real servers."""
