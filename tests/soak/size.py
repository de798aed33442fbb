"""How large the load of a soak is, for its app and its test."""

JOBS = 250  # each of every hour
LEDGER = "ledger"
