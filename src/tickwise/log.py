"""The package's logging: through structlog as the application has configured it, otherwise to stderr.

By default structlog prints to stdout, which may be piped to another program. A line that cannot be written,
because the disk is full or the pipe is closed, is dropped: it must not end the role that logs it.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import structlog


class _LazyLogger:
    """Looks up the configuration for each line: an application may configure logging after it has imported us."""

    def __getattr__(self, method: str) -> Any:
        configured = structlog.is_configured()
        factory = (
            structlog.get_config()["logger_factory"] if configured else structlog.PrintLoggerFactory(sys.stderr)
        )
        return partial(_write_line, getattr(factory("tickwise"), method))


def _write_line(write: Callable[..., Any], *line: Any, **fields: Any) -> None:
    with suppress(OSError, ValueError):  # ValueError: the file is closed
        write(*line, **fields)


def get_logger() -> Any:
    """The logger of a module."""
    return structlog.wrap_logger(_LazyLogger())
