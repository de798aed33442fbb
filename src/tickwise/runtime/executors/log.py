"""The log of one step: the first lines as they come, and then only the last ones.

The first bytes of output are emitted at once, line by line. Later ones go to a buffer that keeps the newest bytes
and counts the dropped ones; `close` emits it. So a step that prints for ever costs little memory, and little time:
only output that is emitted is split into lines.
"""

import codecs
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Protocol

from ...core.redaction import NO_SECRETS, RedactedStream, Redactor

OUT, ERR, LOGGED, OWN = "stdout", "stderr", "logging", "tickwise"  # the streams; the last has our own messages
HEAD_SIZE = TAIL_SIZE = 126_976  # bytes; together they fit into what stores keep of a step
_MAX_LINE = 16_384
_CHUNK_SIZE = 4_096  # bytes; smaller pieces are joined


class Sink(Protocol):
    """Takes the output of a step, and messages of our own about it."""

    def feed(self, stream: str, data: bytes) -> None: ...

    def write_note(self, text: str) -> None: ...

    def write_warning(self, text: str) -> None: ...


class StepLog:
    """Takes output in pieces and emits lines without secrets. Threads of a function write beside the loop."""

    def __init__(
        self,
        emit: Callable[[str, str], None],
        redactor: Redactor = NO_SECRETS,
        *,
        head: int = HEAD_SIZE,
        tail: int = TAIL_SIZE,
    ) -> None:
        self.warnings: list[str] = []
        self._emit = emit
        self._head = head
        self._tail = tail
        self._streams: defaultdict[str, RedactedStream] = defaultdict(redactor.stream)
        self._splitters: defaultdict[str, _LineSplitter] = defaultdict(_LineSplitter)
        self._buffer: deque[tuple[str, bytearray]] = deque()
        self._buffered = 0
        self._dropped = 0
        self._dropped_lines = 0
        self._open = True
        self._lock = Lock()

    def feed(self, stream: str, data: bytes) -> None:
        """Take output. What an abandoned thread writes after `close` is dropped."""
        with self._lock:
            if self._open:
                self._take(stream, self._streams[stream].feed(data))

    def write_note(self, text: str) -> None:
        """Write a message of our own, as a line."""
        self.feed(OWN, f"{text}\n".encode("utf-8", "replace"))

    def write_warning(self, text: str) -> None:
        """Write a message that belongs to the outcome too."""
        self.warnings.append(text)
        self.write_note(text)

    def close(self) -> None:
        """Emit the buffer, after a line that says how much was dropped."""
        with self._lock:
            for stream, redacted in self._streams.items():
                self._take(stream, redacted.flush())
            if self._dropped:
                self._flush_lines()
                self._emit(OWN, f"… {self._dropped:,} bytes with {self._dropped_lines:,} line ends left out …")
            for stream, data in self._buffer:
                self._emit_lines(stream, bytes(data))
            self._flush_lines()
            self._buffer.clear()
            self._open = False

    def _take(self, stream: str, data: bytes) -> None:
        first, later = data[: self._head], data[self._head :]
        self._head -= len(first)
        if first:
            self._emit_lines(stream, first)
        if later:
            self._buffer_tail(stream, later)

    def _emit_lines(self, stream: str, data: bytes, *, final: bool = False) -> None:
        for line in self._splitters[stream].take(data, final=final):
            self._emit(stream, line)

    def _flush_lines(self) -> None:
        for stream in self._splitters:
            self._emit_lines(stream, b"", final=True)
        self._splitters.clear()

    def _buffer_tail(self, stream: str, data: bytes) -> None:
        if self._buffer and self._buffer[-1][0] == stream and len(self._buffer[-1][1]) < _CHUNK_SIZE:
            self._buffer[-1][1].extend(data)
        else:
            self._buffer.append((stream, bytearray(data)))
        self._buffered += len(data)
        while (excess := self._buffered - self._tail) > 0:
            _, oldest = self._buffer[0]
            cut = min(excess, len(oldest))
            self._dropped += cut
            self._dropped_lines += oldest.count(b"\n", 0, cut)
            self._buffered -= cut
            del oldest[:cut]
            if not oldest:
                self._buffer.popleft()


class OutputTail:
    """The end of an output, without secrets."""

    def __init__(self, redactor: Redactor, size: int) -> None:
        self._size = size
        self._stream = redactor.stream()
        self._data = b""

    def feed(self, data: bytes) -> None:
        self._data = (self._data + self._stream.feed(data))[-self._size :]

    def text(self) -> str:
        """The end, after the last piece."""
        self._data = (self._data + self._stream.flush())[-self._size :]
        return self._data.decode("utf-8", "replace")


class _LineSplitter:
    """Turns bytes into lines. Too long lines are split, and invalid UTF-8 is replaced."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def take(self, data: bytes, *, final: bool) -> Iterator[str]:
        text = self._decoder.decode(data, final).replace("\0", "�")
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            yield from _pieces(line.removesuffix("\r"))
        *pieces, self._rest = _pieces(self._rest)
        yield from pieces
        if final and self._rest:
            yield self._rest


def _pieces(line: str) -> list[str]:
    return [line[start : start + _MAX_LINE] for start in range(0, len(line) or 1, _MAX_LINE)]
