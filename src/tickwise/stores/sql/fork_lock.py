"""A fork waits until no thread is inside SQLite.

SQLite has locks that all connections of a process share. A lock that a thread holds during a fork stays locked in
the child, because the thread that would release it does not exist there: the child's first connection would hang.
"""

import concurrent.futures.thread  # noqa: F401  (it has hooks of its own, which must not be added while a fork waits)
import os
from threading import Lock
from weakref import WeakSet

_locks: "WeakSet[Lock]" = WeakSet()
_taken: "list[Lock]" = []


def lock_against_forks() -> Lock:
    """A lock to hold while a thread is inside SQLite; no fork happens meanwhile."""
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
