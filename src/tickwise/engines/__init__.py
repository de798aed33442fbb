"""For programs that engines start: the other side of a hand-over.

`tickwise.engines.remote.execute_attempt` executes an attempt in this process; `tickwise exec` is the same as a
command. Nothing here opens a store: the work speaks to the API only.
"""
