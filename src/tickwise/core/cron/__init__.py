"""Cron: text in, times out. `parse` reads a text into a frozen value that can be walked and explained."""

from ..errors import CronError
from .grammar import parse
from .walk import Cron, Every, Recurrence

__all__ = ["Cron", "CronError", "Every", "Recurrence", "parse"]
