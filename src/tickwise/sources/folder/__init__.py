"""A watched folder of job files (or a single file) as a stream of changes of definitions.

`watch` says when to scan, `scan` reads what the folder holds, `reconcile` decides which definitions are active and
what that changes, and `source` is the loop over the three.

A file event is never trusted to be complete: it only triggers a scan, which compares the identity, size and times
of every file with those of the scan before. So lost, merged and repeated events do no harm (S27). Files that an
event names are read whatever their times say, and every half minute all files are.
"""

from .reconcile import FolderChange
from .source import FolderSource

__all__ = ["FolderChange", "FolderSource"]
