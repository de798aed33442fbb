"""Python's garbage collector, told what a process of ours is like.

It walks over all that is alive each time some hundred things more were made than thrown away, and a node keeps
hundreds of thousands: definitions, functions, an index. None of these are ever garbage. Left alone it takes a
quarter of a busy node's time.
"""

import gc

_YOUNG, _MIDDLE, _OLD = 50_000, 20, 50  # more things made than thrown away before it looks, and how often deeper


def spare_the_collector() -> None:
    """Once all is up: leave alone what is there, and look at what comes less often. For a process of our own."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
