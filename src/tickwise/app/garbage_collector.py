"""The garbage collector of a process of our own."""

import gc

_GC_THRESHOLDS = 50_000, 20, 50  # new objects before a young collection, and how often an older one follows


def tune_garbage_collector() -> None:
    """Freeze what is loaded now and collect less often. For a process of our own, once it is up.

    A node keeps hundreds of thousands of objects for good: definitions, functions, an index. Python's defaults
    walk over all of them after every few hundred new ones, which takes a quarter of a busy node's time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
