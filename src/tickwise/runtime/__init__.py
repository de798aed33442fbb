"""The thin shell around the core: everything that waits, reads the clock or talks to the outside."""
