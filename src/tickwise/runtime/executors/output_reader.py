"""Reads what a step hands on from what it prints, and from the file that `TICKWISE_OUTPUT` names (S72)."""

from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

from ...core.errors import InputError
from ...core.step_outputs import MAX_RUN, printed_outputs, written_outputs
from .log import OUT, Sink


class OutputReader:
    """A log that passes everything on and keeps the end of stdout, and a file that is there as long as this is."""

    def __init__(self, log: Sink) -> None:
        self.write_note = log.write_note
        self.write_warning = log.write_warning
        self._feed = log.feed
        self._end = bytearray()
        self._folder = TemporaryDirectory(prefix="tickwise-", ignore_cleanup_errors=True)
        self.path = Path(self._folder.name) / "output"
        self.path.touch()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._folder.cleanup()

    def feed(self, stream: str, data: bytes) -> None:
        if stream == OUT:
            self._end += data
            if len(self._end) > 2 * MAX_RUN:
                del self._end[:-MAX_RUN]
        self._feed(stream, data)

    def outputs(self) -> dict[str, Any]:
        """What was handed on; what the file says goes before what was printed. InputError names a bad line."""
        return printed_outputs(self._end.decode("utf-8", "replace")) | self._written()

    def _written(self) -> dict[str, Any]:
        try:
            with self.path.open("rb") as file:
                data = file.read(MAX_RUN + 1)
        except OSError:  # the program has removed it
            return {}
        if len(data) > MAX_RUN:
            raise InputError(
                f"more than {MAX_RUN:,} bytes were handed on: write them to a file and hand on its path"
            )
        return written_outputs(data.decode("utf-8", "replace"))
