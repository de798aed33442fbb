"""The document of a run, as others see it, and what becomes of it when an attempt ends.

Stores without tables keep a run as one document. Fields that have no value are left out, and its definitions are
named by the digests of their texts, which have been read.
"""

from collections.abc import Sequence
from contextlib import suppress

from ..core.definition import JobDefinition, RetryPolicy
from ..core.handover import HandOver
from ..core.model import RunProgress, Trigger
from ..core.payload import UnreadableText, decode, shown, shown_params
from ..core.settle import EndingRun, LeaseExpired, Lost, Outcome, Settled, settle
from ..core.states import Event, RunState
from .digest_cache import DigestCache
from .job_document import Document
from .records import MICRO, AttemptRow, Lease, RunRow

_AS_THEY_ARE = (
    "job schedule slot queue priority attempt created_at due_at started_at finished_at node claimed_by lane key "
    "failures losses lease_until expires_at requires"
).split()
_NO_RETRY = RetryPolicy()


def reference(run: Document) -> int:
    """The second that a success counts for: its slot, or its start if it has none."""
    return int(run["slot"] if "slot" in run else run["started_at"] // MICRO)


def digests(run: Document) -> tuple[str, str | None]:
    """Of its definition, and of its schedule's."""
    return run["definition"], run.get("times")


async def definition_of_run(cache: DigestCache, found: Sequence[Document]) -> JobDefinition | None:
    """Of the only run that was found, if there is one whose definition can be read."""
    for run in found:
        await cache.read([run["definition"]])
        with suppress(UnreadableText):
            return cache.job(run["definition"], run["job"])
    return None


def lease_of(cache: DigestCache, run: Document) -> Lease:
    """The run as its worker sees it; its definitions have been read."""
    name, schedule = run["job"], run.get("schedule")
    when = cache.schedule(run["times"], schedule, name) if schedule is not None else None
    return Lease(
        str(run["_id"]), run["token"], cache.job(run["definition"], name), run["attempt"],
        Trigger.of(run["trigger"]), schedule, run.get("slot"), when.times if when else None,
        when.label if when else "", decode(run["params"]) if "params" in run else None,
        run["due_at"], run["started_at"], run["failures"], hand_over_of(run),
    )  # fmt: skip


def row_of(cache: DigestCache, run: Document) -> RunRow:
    """The run as people see it; its definitions have been read."""
    return RunRow(
        **{name: run.get(name) for name in _AS_THEY_ARE},  # type: ignore[arg-type]  # (as they were put there)
        id=str(run["_id"]), trigger=Trigger.of(run["trigger"]), label=_label(cache, run),
        state=RunState(run["state"]), params=shown_params(run.get("params")), result=shown(run.get("result")),
        error=run.get("error", ""), cancelling=run["cancelling"], by=run.get("by", ""),
        waits_for=run.get("waits_for", ""), traceparent=run.get("traceparent", ""),
        hand_over=hand_over_of(run),
    )  # fmt: skip


def hand_over_of(run: Document) -> HandOver | None:
    """The hand-over of its last attempt to an engine (S52)."""
    return HandOver.from_text(run["hand_over"]) if "hand_over" in run else None


def given_up_at(run: Document) -> int:
    """When its lease is over for good: other watchers have the patience of a hand-over to adopt it (S54)."""
    given_up: int = run["lease_until"] + run.get("patience", 0)
    return given_up


def lapse_of(run: Document) -> tuple[Outcome, str]:
    """How a run ends that is given up, and why."""
    record = hand_over_of(run)
    return (Lost(), record.unwatched) if record else (LeaseExpired(), "its worker did not renew the lease")


def run_progress(
    run: str, state: RunState, attempt: int, started_at: int | None, finished_at: int | None
) -> RunProgress:
    """How far a run has come, from instants in microseconds (S65)."""
    started, finished = (None if at is None else -(-at // MICRO) for at in (started_at, finished_at))
    return RunProgress(run, state, attempt, started, finished)


def progress_of(run: Document) -> RunProgress:
    """How far the run of a document has come."""
    return run_progress(
        str(run["_id"]), RunState(run["state"]), run["attempt"], run.get("started_at"), run.get("finished_at")
    )


def _label(cache: DigestCache, run: Document) -> str:
    if "times" not in run:
        return ""
    try:
        return cache.schedule(run["times"], run["schedule"], run["job"]).label
    except UnreadableText:
        return ""


def attempt_of(kept: Document) -> AttemptRow:
    return AttemptRow(
        kept["number"], Event(kept["event"]), kept["started_at"], kept["finished_at"], kept["node"], kept["error"]
    )


def settled(cache: DigestCache, run: Document, outcome: Outcome, now: int) -> Settled:
    """Where a run goes. One whose definition cannot be read ends without retries."""
    try:
        definition = cache.job(run["definition"], run["job"])
        retry, once = definition.retry, definition.at_most_once
    except UnreadableText:
        retry, once = _NO_RETRY, False
    state, asked = RunState(run["state"]), run["cancelling"]
    failure = run.get("error", "") if asked else ""
    known = EndingRun(str(run["_id"]), state, run["failures"], run["losses"], retry, once, asked, failure)
    return settle(known, outcome, now // MICRO)
