"""Tickwise in a Celery app: `Scheduler` for `celery beat`."""

from .beat import Scheduler

__all__ = ["Scheduler"]
