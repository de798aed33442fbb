"""Roles of child processes. A test names one as `module.function`, with the store's address and a node's name."""

from . import crash, crowd, fleet, halt, listener, mongo, retry, start, stop, timeout, users, worker

__all__ = [
    "crash",
    "crowd",
    "fleet",
    "halt",
    "listener",
    "mongo",
    "retry",
    "start",
    "stop",
    "timeout",
    "users",
    "worker",
]
