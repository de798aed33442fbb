"""The trace in which a caller asks for a run (W3C Trace Context): the run keeps it, and its attempts link to it.

It is that of the current span, if the process uses OpenTelemetry, else that of the request that the API answers.
"""

import os
import re
import sys
from contextvars import ContextVar
from typing import Any

_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_received: ContextVar[str] = ContextVar("received_traceparent", default="")


def receive(header: str | None) -> None:
    """The `traceparent` of the request that this context answers; one that is not valid counts as none."""
    _received.set(header if header and _TRACEPARENT.fullmatch(header) else "")


def current_traceparent() -> str:
    """The trace of whoever asks for something here; empty if there is none."""
    context = current_span_context()
    if context is None:
        return _received.get()
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def trace_headers() -> dict[str, str]:
    """What a command sends along, so that it belongs to the trace of the program that started it."""
    found = os.environ.get("TRACEPARENT", "")
    return {"traceparent": found} if _TRACEPARENT.fullmatch(found) else {}


def current_span_context() -> Any | None:
    """Of the current span, if OpenTelemetry is in use. It is never imported for this."""
    otel = sys.modules.get("opentelemetry.trace")
    context = otel.get_current_span().get_span_context() if otel else None
    return context if context is not None and context.is_valid else None
