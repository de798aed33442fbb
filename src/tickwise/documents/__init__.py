"""Turns any collection or table of your own into a queue of timed jobs."""

from .contract import COLUMNS, Ending, Fields, JobStore, Locked, LockLostError, Renew
from .decide import DocumentFacts, Release, Remove, Sleep
from .memory import MemoryJobStore
from .mongodb import MongoJobStore
from .mysql import MysqlJobStore
from .postgres import PostgresJobStore
from .redis import RedisJobStore
from .scheduler import DocumentScheduler
from .sqlite import SqliteJobStore
from .threaded import ThreadedScheduler

__all__ = [
    "COLUMNS",
    "DocumentFacts",
    "DocumentScheduler",
    "Ending",
    "Fields",
    "JobStore",
    "LockLostError",
    "Locked",
    "MemoryJobStore",
    "MongoJobStore",
    "MysqlJobStore",
    "PostgresJobStore",
    "RedisJobStore",
    "Release",
    "Remove",
    "Renew",
    "Sleep",
    "SqliteJobStore",
    "ThreadedScheduler",
]
