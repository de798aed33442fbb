"""Where the package logs: through structlog as the application has set it up, and else to stderr.

Left alone, structlog prints to stdout, where a program's own output may be piped to another.
"""

import sys
from typing import Any

import structlog


class _Sink:
    """Decided line by line: an application may set up its logging after it has imported us."""

    def __getattr__(self, method: str) -> Any:
        if structlog.is_configured():
            return getattr(structlog.get_config()["logger_factory"]("tickwise"), method)
        return getattr(structlog.PrintLogger(sys.stderr), method)


def get_logger() -> Any:
    """A logger for a module."""
    return structlog.wrap_logger(_Sink())
