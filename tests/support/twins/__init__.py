"""The twin state machine: a store and the memory store make the same moves and are compared."""
