"""What jobs say that they have done. It is a pipe: a disk that is full for a node does not silence its jobs."""

import os
from pathlib import Path
from threading import Thread
from typing import Self


class Ledger:
    """Reads along until the block ends; `told` is then a file with all that was said."""

    def __init__(self, pipe: Path) -> None:
        self.told = pipe.with_suffix(".txt")
        os.mkfifo(pipe)
        self._pipe = os.open(pipe, os.O_RDWR)  # so that nobody who writes is ever the only one there
        self._thread = Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.write(self._pipe, b"\0")
        self._thread.join()
        os.close(self._pipe)

    def _read(self) -> None:
        with self.told.open("wb") as told:
            while not (said := os.read(self._pipe, 65_536)).endswith(b"\0"):
                told.write(said)
            told.write(said[:-1])
