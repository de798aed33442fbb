"""Forks wait for those who are inside SQLite.

It has locks that all connections of a process share. One that a thread holds at a fork is held in the child for
ever, because the thread that would let go of it is not there: the child's first connection then stands still.
"""

import concurrent.futures.thread  # noqa: F401  (it has hooks of its own, which must not be added while a fork waits)
import os
from threading import Lock
from weakref import WeakSet

_locks: "WeakSet[Lock]" = WeakSet()
_taken: "list[Lock]" = []


def lock_against_forks() -> Lock:
    """To be held by whoever is inside; no fork happens meanwhile."""
    lock = Lock()
    _locks.add(lock)
    return lock


def _take_all() -> None:
    for lock in list(_locks):
        lock.acquire()
        _taken.append(lock)


def _release_all() -> None:
    while _taken:
        _taken.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_all, after_in_parent=_release_all, after_in_child=_release_all)
