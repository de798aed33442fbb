"""The log of one step: lines as they come, up to a bound, and after it only the last ones.

The first bytes of output are passed on at once, line by line. What comes after them waits in a buffer that keeps
the newest bytes and counts what it loses; `close` passes it on. A step that prints for ever costs little memory
and little time: lines are only looked for in what is passed on.
"""

import codecs
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Protocol

OUT, ERR, OWN = "stdout", "stderr", "tickwise"  # the streams; the last is for our own remarks
BOUND = 126_976  # bytes; two of them fit into what stores keep of a step
_LONGEST_LINE = 16_384
_SMALL = 4_096


class Sink(Protocol):
    """Where output goes."""

    def feed(self, stream: str, data: bytes) -> None: ...

    def say(self, text: str) -> None: ...

    def caution(self, text: str) -> None: ...


class StepLog:
    """Takes output in pieces and gives out lines. Used by one thread only, the loop's."""

    def __init__(self, emit: Callable[[str, str], None], *, head: int = BOUND, tail: int = BOUND) -> None:
        self.cautions: list[str] = []
        self._emit = emit
        self._head = head
        self._tail = tail
        self._lines: defaultdict[str, _Lines] = defaultdict(_Lines)
        self._kept: deque[tuple[str, bytearray]] = deque()
        self._kept_size = 0
        self._lost = 0
        self._lost_lines = 0
        self._open = True

    def feed(self, stream: str, data: bytes) -> None:
        """Take output. What comes after the end, from a thread nobody waits for, is dropped."""
        if not self._open:
            return
        now, later = data[: self._head], data[self._head :]
        self._head -= len(now)
        if now:
            self._pass_on(stream, now)
        if later:
            self._keep(stream, later)

    def say(self, text: str) -> None:
        """A remark of our own, as a line."""
        self.feed(OWN, f"{text}\n".encode("utf-8", "replace"))

    def caution(self, text: str) -> None:
        """A remark that belongs to the outcome too."""
        self.cautions.append(text)
        self.say(text)

    def close(self) -> None:
        """Pass on what was kept, after a line that says how much was lost."""
        if self._lost:
            self._end_lines()
            self._emit(OWN, f"… {self._lost:,} bytes with {self._lost_lines:,} line ends left out …")
        for stream, data in self._kept:
            self._pass_on(stream, bytes(data))
        self._end_lines()
        self._kept.clear()
        self._open = False

    def _pass_on(self, stream: str, data: bytes, *, final: bool = False) -> None:
        for line in self._lines[stream].take(data, final=final):
            self._emit(stream, line)

    def _end_lines(self) -> None:
        for stream in self._lines:
            self._pass_on(stream, b"", final=True)
        self._lines.clear()

    def _keep(self, stream: str, data: bytes) -> None:
        if self._kept and self._kept[-1][0] == stream and len(self._kept[-1][1]) < _SMALL:
            self._kept[-1][1].extend(data)
        else:
            self._kept.append((stream, bytearray(data)))
        self._kept_size += len(data)
        while (excess := self._kept_size - self._tail) > 0:
            _, oldest = self._kept[0]
            cut = min(excess, len(oldest))
            self._lost += cut
            self._lost_lines += oldest.count(b"\n", 0, cut)
            self._kept_size -= cut
            del oldest[:cut]
            if not oldest:
                self._kept.popleft()


class _Lines:
    """Bytes in, lines out; a line that is too long comes in pieces, and what is not UTF-8 is replaced."""

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
    return [line[start : start + _LONGEST_LINE] for start in range(0, len(line) or 1, _LONGEST_LINE)]
