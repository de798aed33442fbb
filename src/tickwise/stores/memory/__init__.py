"""The reference store, in the memory of one process."""
