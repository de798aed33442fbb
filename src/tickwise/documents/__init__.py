"""Turns any collection or table of your own into a queue of timed jobs."""

from .contract import COLUMNS, Fields, JobStore, Locked, LockLostError, Renew
from .decide import DocumentFacts, Release, Sleep
from .memory import MemoryJobStore
from .mongodb import MongoJobStore
from .postgres import PostgresJobStore
from .scheduler import DocumentScheduler
from .sqlite import SqliteJobStore
from .threaded import ThreadedScheduler

__all__ = [
    "COLUMNS",
    "DocumentFacts",
    "DocumentScheduler",
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
