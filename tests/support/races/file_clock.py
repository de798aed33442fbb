"""A store's time for all processes of a test: it stands in a file, and the test moves it.

It crawls, a microsecond in two hundred: a test never reaches the next second unless it moves the clock, but what
happened after something else is later by the store's own records.
"""

import mmap
import struct
from pathlib import Path
from time import monotonic_ns

START = 1_767_225_600  # 2026-01-01T00:00:00Z
_FORM = struct.Struct("qq")  # microseconds, and what the monotonic clock said when they were set
_NANOSECONDS_A_MICROSECOND = 200_000


class SharedClock:
    """Read as `clock()` in microseconds, in any process that knows the file."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        if not self.path.exists():
            self.path.write_bytes(bytes(_FORM.size))
        with self.path.open("r+b") as file:
            self._held = mmap.mmap(file.fileno(), _FORM.size)
        if not self._held[0:8].strip(b"\0"):
            self.set(START)

    def __call__(self) -> int:
        micro, since = _FORM.unpack_from(self._held)
        return int(micro + (monotonic_ns() - since) // _NANOSECONDS_A_MICROSECOND)

    @property
    def second(self) -> int:
        return self() // 1_000_000

    def set(self, second: int) -> None:
        _FORM.pack_into(self._held, 0, second * 1_000_000, monotonic_ns())

    def advance(self, seconds: int) -> None:
        self.set(self.second + seconds)

    def close(self) -> None:
        self._held.close()
