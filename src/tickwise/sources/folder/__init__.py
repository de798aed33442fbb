"""A watched folder of job files (or a single one) as a stream of changes of definitions.

The rooms behind this door: `watch` says when to look, `disk` what the folder holds then (of which `trust` refuses
what strangers may write), `standing` which definitions go on and what that changes, and `source` is the loop
through the three.

No event is trusted to be complete. Each one only says that it is time to look, and a look compares every file's
identity, size and times with those of the look before; so lost, merged and repeated events do no harm (S27).
Files that an event names are read whatever their times say, and every half minute all are.
"""

from .reconcile import FolderChange
from .source import FolderSource

__all__ = ["FolderChange", "FolderSource"]
