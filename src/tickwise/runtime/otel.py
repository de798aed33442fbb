"""OpenTelemetry: a trace of each attempt, with its steps and links to what made the run; metrics.

The span of an attempt is current while it is executed, so spans of a function are its children. It is the root of
its trace: a run may wait for hours, and an attempt may follow a day later elsewhere. The decision that made the
run is a span of the caller's trace, if somebody asked for the run in one, else a trace of its own. Each attempt
has links to the decision and to the caller. Only the API of OpenTelemetry is imported here; `set_up` takes the SDK
if the program has configured none.
"""

import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, StatusCode, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ..clock import microseconds
from ..core.payload import first_line
from ..core.settle import Failed
from ..core.timeparse import iso
from ..stores.records import MICRO, Lease
from .context import StepRecord, StepState
from .executors.result import AttemptResult

_PROPAGATOR = TraceContextTextMapPropagator()
_NANO = 1_000  # in a microsecond
_MAX_DECISIONS = 10_000  # of runs that may be tried again here
_MAX_JOBS = 1_000  # names in metrics; any more are told together
_OTHER_JOBS = "other"
_MAX_ERROR = 500  # characters
_ENDED = {StepState.SUCCEEDED, StepState.FAILED, StepState.SKIPPED, StepState.CANCELLED}


def set_up() -> None:
    """Configure the SDK from its own variables (OTEL_…), unless the program has configured one."""
    if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # noqa: PLC0415
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    resource = Resource.create({} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "tickwise"})
    tracers = TracerProvider(resource=resource)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(tracers)
    reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    metrics.set_meter_provider(MeterProvider(resource=resource, metric_readers=[reader]))


class OpenTelemetry:
    """Traces and measures the attempts of a worker."""

    def __init__(self) -> None:
        self._tracer = trace.get_tracer("tickwise", version("tickwise"))
        meter = metrics.get_meter("tickwise", version("tickwise"))
        self._attempts = meter.create_counter("tickwise.attempts", description="Attempts that ended.")
        self._duration = meter.create_histogram(
            "tickwise.attempt.duration", unit="s", description="From the start of an attempt to its end."
        )
        self._lateness = meter.create_histogram(
            "tickwise.attempt.lateness", unit="s", description="From when a run could start to its start."
        )
        self._decisions: OrderedDict[str, SpanContext] = OrderedDict()
        self._jobs: set[str] = set()

    @contextmanager
    def attempt(self, lease: Lease, caller: str) -> Iterator["_AttemptSpan"]:
        """The span of an attempt, current as long as the block lasts."""
        asked_in = _PROPAGATOR.extract({"traceparent": caller}, Context())
        causes = self._decision(lease, asked_in), get_current_span(asked_in).get_span_context()
        span = self._tracer.start_span(
            f"run {lease.job.name}", context=Context(), kind=SpanKind.CONSUMER, attributes=_attributes(lease),
            links=[Link(cause) for cause in causes if cause and cause.is_valid],
        )  # fmt: skip
        watch = _AttemptSpan(span)
        try:
            with trace.use_span(span, record_exception=False, set_status_on_exception=False):
                yield watch
        finally:
            span.set_attribute("tickwise.outcome", watch.outcome)
            span.end()
            self._measure(lease, watch.outcome)

    def _decision(self, lease: Lease, asked_in: Context) -> SpanContext | None:
        """The decision that made the run; of a later attempt only if the first one was executed here."""
        if lease.attempt > 1:
            return self._decisions.get(lease.id)
        began = lease.due_at if lease.slot is None else min(lease.slot * MICRO, lease.due_at)
        span = self._tracer.start_span(
            f"decide {lease.job.name}", context=asked_in, start_time=began * _NANO, attributes=_attributes(lease)
        )
        span.end(lease.due_at * _NANO)
        found = self._decisions[lease.id] = span.get_span_context()
        if len(self._decisions) > _MAX_DECISIONS:
            self._decisions.popitem(last=False)
        return found

    def _measure(self, lease: Lease, outcome: str) -> None:
        job = lease.job.name
        if job in self._jobs or len(self._jobs) < _MAX_JOBS:
            self._jobs.add(job)
        else:
            job = _OTHER_JOBS
        about = {"tickwise.job": job, "tickwise.outcome": outcome}
        self._attempts.add(1, about)
        self._duration.record(max(0.0, _seconds_since(lease.started_at)), about)
        self._lateness.record(max(0, lease.started_at - lease.due_at) / MICRO, {"tickwise.job": job})

    def variables(self) -> dict[str, str]:
        """`TRACEPARENT` of the attempt, and `TRACESTATE` if there is any (W3C)."""
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier)
        return {name.upper(): value for name, value in carrier.items()}

    def step(self, record: StepRecord) -> None:
        """A span of a named step that has ended, or was skipped."""
        if record.state not in _ENDED or not record.name:
            return
        began = None if record.started_at is None else round(record.started_at.timestamp() * 1e9)
        span = self._tracer.start_span(
            f"step {record.name}", start_time=began,
            attributes={"tickwise.step": record.name, "tickwise.attempt": record.attempt},
        )  # fmt: skip
        span.set_attribute("tickwise.outcome", str(record.state))
        if record.state is StepState.FAILED:
            span.set_status(StatusCode.ERROR, first_line(record.error, _MAX_ERROR))
        span.end(None if record.finished_at is None else round(record.finished_at.timestamp() * 1e9))

    def flush(self) -> None:
        """Send what was collected."""
        for provider in (trace.get_tracer_provider(), metrics.get_meter_provider()):
            force_flush = getattr(provider, "force_flush", None)
            if force_flush is not None:
                force_flush()


class _AttemptSpan:
    """The span of one attempt; without a result it was ended from outside."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self.outcome = "interrupted"

    def end(self, result: AttemptResult) -> None:
        self.outcome = type(result.outcome).__name__.lower()
        if isinstance(result.outcome, Failed):
            self._span.set_status(StatusCode.ERROR, first_line(result.error, _MAX_ERROR))


def _attributes(lease: Lease) -> dict[str, Any]:
    slot = {} if lease.slot is None else {"tickwise.slot": iso(lease.slot)}
    schedule = {} if lease.schedule is None else {"tickwise.schedule": lease.schedule}
    return {
        "tickwise.run": lease.id, "tickwise.job": lease.job.name, "tickwise.trigger": str(lease.trigger),
        "tickwise.attempt": lease.attempt, **schedule, **slot,
    }  # fmt: skip


def _seconds_since(micro: int) -> float:
    return microseconds() / MICRO - micro / MICRO
