"""A fork, and threads that are inside SQLite."""

import os
from threading import Thread

from tickwise.stores.sql.fork_lock import lock_against_forks


def test_a_fork_waits_for_who_is_inside() -> None:
    """The child finds no lock held; the parent goes on as before."""
    inside, codes = lock_against_forks(), list[int]()

    def fork() -> None:
        child = os.fork()
        if child == 0:
            os._exit(int(inside.locked()))
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    with inside:
        forking = Thread(target=fork)
        forking.start()
        forking.join(0.05)
        assert forking.is_alive()
    forking.join()
    assert (codes, inside.locked()) == ([0], False)
