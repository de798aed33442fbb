"""Turns any collection or table of your own into a queue of timed jobs."""

from .contract import JobStore, Locked, LockLostError, Renew
from .fields import COLUMNS, Fields
from .memory import MemoryJobStore
from .mongodb import MongoJobStore
from .postgres import PostgresJobStore
from .scheduler import DocumentScheduler
from .sqlite import SqliteJobStore
from .threaded import ThreadedScheduler
from .verdict import Facts, Release, Sleep

__all__ = [
    "COLUMNS",
    "DocumentScheduler",
    "Facts",
    "Fields",
    "JobStore",
    "LockLostError",
    "Locked",
    "MemoryJobStore",
    "MongoJobStore",
    "PostgresJobStore",
    "Release",
    "Renew",
    "Sleep",
    "SqliteJobStore",
    "ThreadedScheduler",
]
