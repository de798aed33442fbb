"""Where the package logs: through structlog as the application has set it up, and else to stderr.

Left alone, structlog prints to stdout, where a program's own output may be piped to another. A line that cannot be
written, because the disk is full or its reader has gone, is lost: it must not end the role that had to say it.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import structlog


class _Sink:
    """Decided line by line: an application may set up its logging after it has imported us."""

    def __getattr__(self, method: str) -> Any:
        configured = structlog.is_configured()
        factory = (
            structlog.get_config()["logger_factory"] if configured else structlog.PrintLoggerFactory(sys.stderr)
        )
        return partial(_write, getattr(factory("tickwise"), method))


def _write(write: Callable[..., Any], *line: Any, **fields: Any) -> None:
    with suppress(OSError, ValueError):  # the latter, if the file is closed
        write(*line, **fields)


def get_logger() -> Any:
    """A logger for a module."""
    return structlog.wrap_logger(_Sink())
