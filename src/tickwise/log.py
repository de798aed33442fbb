"""The package's logging: through structlog as the application has configured it, otherwise to stderr.

By default structlog prints to stdout, which may be piped to another program, and prints the local variables of a
traceback, which may be tokens. So without a configuration of the application ours is used: stderr, and tracebacks
as Python prints them. Whatever the configuration, tokens are removed from each line. A line that cannot be
written, because the disk is full or the pipe is closed, is dropped: it must not end the role that logs it.

structlog is imported with the first line: it loads Rich, and most programs that only enqueue never log.
"""
# ruff: noqa: PLC0415

import json
import logging
import re
import sys
import traceback
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

from .trace_context import current_span_context

_CREDENTIALS = re.compile(
    r"""(?ix)(
        \bbearer\s+                                           # a token in a header,
        | tickwise-session(?:-key|-\d+)?["']?\s*(?:[=:,]|\s)\s*b?["']?  # a half of one,
        | [#/?&;]signin\?code=                                # or a link
    )[\w.~+/=-]{4,}"""
)


class LogLevel(StrEnum):
    """The least severe lines that are logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogSettings(NamedTuple):
    """How a process logs."""

    as_json: bool = False
    level: LogLevel = LogLevel.INFO
    without: frozenset[str] = frozenset()  # events that the process shows in another way


DEFAULT_LOG_SETTINGS = LogSettings()


_NOISY_LIBRARIES = ("watchfiles", "httpx2")  # they log every change and every request


def scrub(text: str) -> str:
    """The text without tokens."""
    return _CREDENTIALS.sub(r"\1…", text)


def configure_logging(settings: LogSettings) -> None:
    """Log to stderr: lines for people, or JSON objects. What the application has set up itself stays as it is."""
    import structlog

    least = logging.getLevelNamesMapping()[settings.level.upper()]
    root = logging.getLogger()
    if not root.handlers:
        to_stderr = logging.StreamHandler(sys.stderr)
        to_stderr.setFormatter(_JsonFormatter() if settings.as_json else logging.Formatter("%(message)s"))
        root.addHandler(to_stderr)
        root.setLevel(least)
    for handler in root.handlers:
        handler.addFilter(_scrub_record)
    for library in _NOISY_LIBRARIES:
        logging.getLogger(library).setLevel(max(least, logging.WARNING))
    if not structlog.is_configured():
        structlog.configure(
            processors=_processors(as_json=settings.as_json, without=settings.without),
            wrapper_class=structlog.make_filtering_bound_logger(least),
            logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        )


class _JsonFormatter(logging.Formatter):
    """A line of a library or of a job in the form of our own JSON lines."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "event": record.getMessage(), "logger": record.name, "level": record.levelname.lower(),
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(), **_current_trace(),
        }  # fmt: skip
        if record.exc_text or record.exc_info:
            fields["exception"] = record.exc_text or self.formatException(record.exc_info)  # type: ignore[arg-type]
        return json.dumps(fields, ensure_ascii=False)


def _scrub_record(record: logging.LogRecord) -> bool:
    """Remove tokens from a line of a library, and from its traceback."""
    record.msg, record.args = scrub(record.getMessage()), None
    if record.exc_info and record.exc_info[1] is not None:
        record.exc_text = scrub("".join(traceback.format_exception(record.exc_info[1])).rstrip())
    return True


def _processors(*, as_json: bool, without: frozenset[str] = frozenset()) -> list[Any]:
    import structlog

    for_people = sys.stderr.isatty() and not as_json
    plain = structlog.dev.ConsoleRenderer(colors=for_people, exception_formatter=structlog.dev.plain_traceback)
    return [
        *([partial(_drop, without)] if without else []),
        *([_show_error] if for_people else []),
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        _add_trace,
        structlog.processors.TimeStamper(fmt="%H:%M:%SZ" if for_people else "iso", utc=True),
        structlog.processors.JSONRenderer() if as_json else plain,
    ]


def _drop(without: frozenset[str], _logger: Any, _method: str, fields: Any) -> Any:
    import structlog

    if fields["event"] in without:
        raise structlog.DropEvent
    return fields


def _show_error(_logger: Any, _method: str, fields: Any) -> Any:
    """An error as it is, and not as a quoted string: it may have several lines."""
    if isinstance(error := fields.pop("error", None), str) and error:
        fields["event"] += f": {error}"
    return fields


def _current_trace() -> dict[str, str]:
    """The ids of the trace and the span in which a line is logged, if OpenTelemetry is in use."""
    if (context := current_span_context()) is None:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}


def _add_trace(_logger: object, _method: str, fields: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    fields.update(_current_trace())
    return fields


class _LazyLogger:
    """Looks up the configuration for each line: an application may configure logging after it has imported us."""

    def __getattr__(self, method: str) -> Callable[..., None]:
        return partial(self._log, method)

    def _log(self, method: str, event: str, **fields: Any) -> None:
        import structlog

        configured = structlog.is_configured()
        if configured:
            logger = structlog.get_logger("tickwise")
        else:
            factory = structlog.PrintLoggerFactory(sys.stderr)
            logger = structlog.wrap_logger(factory(), processors=_processors(as_json=False))
        with suppress(OSError, ValueError):  # ValueError: the file is closed
            getattr(logger, method)(scrub(event), **_scrub_fields(fields))


def _scrub_fields(fields: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """The fields without tokens; an exception becomes the text of its traceback."""
    error = fields.pop("exc_info", None)
    if isinstance(error, BaseException):
        fields["exception"] = "".join(traceback.format_exception(error)).rstrip()
    return {name: scrub(value) if isinstance(value, str) else value for name, value in fields.items()}


def get_logger() -> Any:
    """The logger of a module."""
    return _LazyLogger()
