"""Files that jobs wait for: looked for in the folders that the settings allow, and told when they have settled."""

from .watch import FileWatch, may_watch

__all__ = ["FileWatch", "may_watch"]
