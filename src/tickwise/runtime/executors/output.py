"""What functions of this process print and log: it goes into the log of their run, and on to the terminal.

A context variable says which run the current code belongs to, so concurrent runs do not mix. Tasks inherit it, and
so do threads that get a copy of the context (`asyncio.to_thread`). Three things look at it: `sys.stdout` and
`sys.stderr`, which are replaced by streams that pass everything on, and the standard library's `logging`. Loggers,
levels, filters and handlers stay as the application has set them up: a record that they let through is copied.

The replaced streams stay in place, because handlers and libraries may have kept them.
"""

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from threading import Lock, get_ident
from typing import Any, Protocol, TextIO, cast

from .log import ERR, LOGGED, OUT

_MAX_PARTIAL = 16_384  # characters of a line without its end


class TextWriter(Protocol):
    """Takes text of a stream."""

    def write(self, stream: str, text: str) -> None: ...


_output: ContextVar[TextWriter | None] = ContextVar("tickwise_output", default=None)
_formatter = logging.Formatter("%(levelname)s %(name)s: %(message)s")
_lock = Lock()


class RunOutput:
    """Joins what is printed to lines, for each thread by itself, and feeds them to a log."""

    def __init__(self, feed: Callable[[str, bytes], None]) -> None:
        self._feed = feed
        self._partial: dict[tuple[int, str], str] = {}

    def write(self, stream: str, text: str) -> None:
        key = (get_ident(), stream)
        text = self._partial.pop(key, "") + text
        lines, end, rest = text.rpartition("\n")
        if len(rest) > _MAX_PARTIAL:
            lines, rest = text, ""
        if rest:
            self._partial[key] = rest
        if lines or end:
            self._feed(stream, (lines + end).encode("utf-8", "replace"))

    def close(self) -> None:
        """Feed the lines that have no end."""
        while self._partial:
            (_, stream), rest = self._partial.popitem()
            self._feed(stream, rest.encode("utf-8", "replace"))


def capture_into(output: TextWriter) -> Token[TextWriter | None]:
    """Let the current context write to this output from now on."""
    _install()
    return _output.set(output)


def stop_capture(token: Token[TextWriter | None]) -> None:
    """Let it write to where it wrote before."""
    _output.reset(token)


@contextmanager
def _passed_on() -> Iterator[None]:
    """Nothing inside is captured: it has been already."""
    token = _output.set(None)
    try:
        yield
    finally:
        _output.reset(token)


class _CapturedStream:
    """A standard stream that also writes to the output of the current run."""

    def __init__(self, stream: str, terminal: TextIO | None) -> None:
        self._stream = stream
        self._terminal = terminal

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        output = _output.get()
        if output is None:
            return self._terminal.write(text) if self._terminal else len(text)
        output.write(self._stream, text)
        if self._terminal:
            with _passed_on(), suppress(OSError, ValueError):  # a terminal that is gone fails no run
                self._terminal.write(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if self._terminal:
            with suppress(OSError, ValueError):
                self._terminal.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._terminal, name)


def _install() -> None:
    if type(sys.stdout) is not _CapturedStream:
        sys.stdout = cast(TextIO, _CapturedStream(OUT, sys.stdout))
    if type(sys.stderr) is not _CapturedStream:
        sys.stderr = cast(TextIO, _CapturedStream(ERR, sys.stderr))
    if not _copies_records():
        with _lock:
            if not _copies_records():
                logging.Logger.callHandlers = _copying_records(logging.Logger.callHandlers)  # type: ignore[method-assign,assignment]


def _copies_records() -> bool:
    return hasattr(logging.Logger.callHandlers, "tickwise")


def _copying_records(
    call_handlers: Callable[[logging.Logger, logging.LogRecord], None],
) -> Callable[[logging.Logger, logging.LogRecord], None]:
    """The method, which then copies the record to the output of the current run.

    A handler on the root logger would do so too, but then `basicConfig` of the application would do nothing.
    """

    def call_and_copy(logger: logging.Logger, record: logging.LogRecord) -> None:
        output = _output.get()
        if output is None:
            call_handlers(logger, record)
            return
        with _passed_on():
            call_handlers(logger, record)
        with suppress(Exception):  # a record whose arguments do not fit its text: its handlers have said so
            output.write(LOGGED, f"{_formatter.format(record)}\n")

    call_and_copy.tickwise = True  # type: ignore[attr-defined]
    return call_and_copy
