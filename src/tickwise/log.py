"""The package's logging: through structlog as the application has configured it, otherwise to stderr.

By default structlog prints to stdout, which may be piped to another program. A line that cannot be written,
because the disk is full or the pipe is closed, is dropped: it must not end the role that logs it.

structlog is imported with the first line: it loads Rich, and most programs that only enqueue never log.
"""
# ruff: noqa: PLC0415

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any


class _LazyOutput:
    """Looks up the configuration for each line: an application may configure logging after it has imported us."""

    def __getattr__(self, method: str) -> Any:
        import structlog

        configured = structlog.is_configured()
        factory = (
            structlog.get_config()["logger_factory"] if configured else structlog.PrintLoggerFactory(sys.stderr)
        )
        return partial(_write_line, getattr(factory("tickwise"), method))


def _write_line(write: Callable[..., Any], *line: Any, **fields: Any) -> None:
    with suppress(OSError, ValueError):  # ValueError: the file is closed
        write(*line, **fields)


class _LazyLogger:
    """Stands for the logger of a module until a line is written."""

    def __getattr__(self, method: str) -> Any:
        return getattr(_logger(), method)


@cache
def _logger() -> Any:
    import structlog

    return structlog.wrap_logger(_LazyOutput())


def get_logger() -> Any:
    """The logger of a module."""
    return _LazyLogger()
