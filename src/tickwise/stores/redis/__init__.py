"""The store over Redis or Valkey. Start at `scripts`: a move is one Lua script, which is atomic.

What a move decides with the core (a plan, a settled end, a changed definition) is decided in Python between a
script that reads and one that writes; the second makes the move only if nothing of what was read has changed.
"""
