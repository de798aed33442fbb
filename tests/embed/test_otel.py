"""OpenTelemetry: what a collector gets of attempts, over its own protocol."""

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tickwise import InputError, Tickwise

from ..support.app import patiently
from ..support.receiver import Receiver

PROGRAM = """
import logging, sys, tempfile
from threading import Event
from opentelemetry import trace
from tickwise import Hooks, Tickwise
from tickwise.log import LogLevel, LogSettings, configure_logging

configure_logging(LogSettings(as_json=True, level=LogLevel.INFO))
ended, events, place = Event(), [], tempfile.mkdtemp() + "/trace"
def count(event):
    if event.what != "started":
        events.append(event)
    if len(events) == 4:
        ended.set()

tw = Tickwise("memory://", otel=True, hooks=Hooks(on_run=count), poll=0.05)

@tw.job(retry={"limit": 1, "interval": "1s", "jitter": 0})
def ship(run, order):
    with trace.get_tracer("shop").start_as_current_span("wrap"):
        logging.getLogger("shop").info("wrapping")
    if run.attempt == 1:
        raise OSError("no tape")

@tw.job
async def plain():
    with trace.get_tracer("shop").start_as_current_span("think"):
        pass

tw.schedules.add("steps", schedule="0 0 1 1 *", steps=[
    {"name": "first", "script": f"printenv TRACEPARENT > {place}"},
    {"name": "second", "command": "false", "depends": ["first"]},
])
tw.start()
with trace.get_tracer("shop").start_as_current_span("checkout"):
    tw.enqueue(ship, {"order": 7})
tw.enqueue(plain)
tw.schedules.trigger("steps")
ended.wait(100)
tw.close()
print("joined", open(place).read())
"""


async def _collect(program: str) -> tuple[list[Any], list[Any], str]:
    """The spans and metrics that the program sends, and its output."""
    async with Receiver.open() as receiver:
        receiver.status = 200
        variables = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url.partition("/hook")[0]}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        output = (await process.communicate())[0].decode()
        assert process.returncode == 0, output
        spans: list[Any] = []
        points: list[Any] = []
        for sent in receiver.got:
            assert sent.headers["content-type"] == "application/x-protobuf"
            if sent.path == "/v1/traces":
                traces = ExportTraceServiceRequest.FromString(sent.body).resource_spans
                spans += [span for one in traces for scope in one.scope_spans for span in scope.spans]
            else:
                found = ExportMetricsServiceRequest.FromString(sent.body).resource_metrics
                points += [metric for one in found for scope in one.scope_metrics for metric in scope.metrics]
        return spans, points, output


@patiently
async def test_a_collector_gets_traces_and_metrics_of_attempts() -> None:
    """Caller → decision → run → step with links; functions and commands join; logs have the ids; metrics count."""
    spans, metrics, output = await _collect(PROGRAM)
    named: dict[str, list[Any]] = {}
    for span in sorted(spans, key=lambda span: span.start_time_unix_nano):
        named.setdefault(span.name, []).append(span)
    (decision,) = named["decide ship"]
    first, second = named["run ship"]
    (caller,) = named["checkout"]
    assert (decision.trace_id, decision.parent_span_id) == (caller.trace_id, caller.span_id)
    for attempt in (first, second):
        assert not attempt.parent_span_id
        assert [link.span_id for link in attempt.links] == [decision.span_id, caller.span_id]
    assert (first.status.code, first.status.message, second.status.code) == (2, "OSError: no tape", 0)
    assert [span.parent_span_id for span in named["wrap"]] == [first.span_id, second.span_id]
    about = {one.key: one.value.string_value or one.value.int_value for one in second.attributes}
    assert (
        about.items()
        >= {
            "tickwise.job": "ship",
            "tickwise.trigger": "enqueue",
            "tickwise.attempt": 2,
            "tickwise.outcome": "succeeded",
        }.items()
    )
    (steps,) = named["run steps"]
    for name, code in (("step first", 0), ("step second", 2)):
        (step,) = named[name]
        assert (step.parent_span_id, step.trace_id, step.status.code) == (steps.span_id, steps.trace_id, code)
    assert f"joined 00-{steps.trace_id.hex()}-{steps.span_id.hex()}-" in output
    (plain,) = named["run plain"]
    assert (named["think"][0].parent_span_id, len(plain.links)) == (plain.span_id, 1)

    (line, _) = [json.loads(text) for text in output.splitlines() if '"wrapping"' in text]
    assert (line["trace_id"], line["span_id"]) == (first.trace_id.hex(), named["wrap"][0].span_id.hex())

    counts = {
        tuple(sorted(one.value.string_value for one in point.attributes)): point.as_int
        for metric in metrics
        if metric.name == "tickwise.attempts"
        for point in metric.sum.data_points
    }
    assert counts == {
        ("failed", "ship"): 1,
        ("ship", "succeeded"): 1,
        ("plain", "succeeded"): 1,
        ("failed", "steps"): 1,
    }
    assert {"tickwise.attempt.duration", "tickwise.attempt.lateness"} <= {metric.name for metric in metrics}


@pytest.fixture
def without_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the extra were not installed."""
    monkeypatch.delitem(sys.modules, "tickwise.runtime.otel", raising=False)
    for name in ("opentelemetry", "opentelemetry.trace"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("without_sdk")
def test_a_missing_extra_is_named() -> None:
    """The setting without its packages is refused when a node starts, with what to install."""
    with (
        Tickwise("memory://", otel=True) as tw,
        pytest.raises(InputError, match=r"pip install 'tickwise\[otel\]'"),
    ):
        tw.start()


DRAINED = """
from tickwise import Tickwise

with Tickwise("memory://", otel=True) as tw:
    @tw.job
    def plain():
        pass

    tw.enqueue(plain)
    tw.drain()
"""


@patiently
async def test_a_drain_is_traced() -> None:
    """What a drain does is sent before it returns."""
    spans, _, _ = await _collect(DRAINED)
    assert sorted(span.name for span in spans) == ["decide plain", "run plain"]
