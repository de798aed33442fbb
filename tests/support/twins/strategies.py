"""What the state machine draws: jobs and schedules in a few words each, and the values that moves take.

Words stand for values, so that what hypothesis prints of a failure can be read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from hypothesis import strategies as st

from tickwise.core.backfill import BackfillCancelled
from tickwise.core.change import Paused, Reset, Restored, Resumed
from tickwise.core.cron import parse
from tickwise.core.cron.recurrences import At
from tickwise.core.cron.zone import zone
from tickwise.core.definition import (
    After,
    Catchup,
    Command,
    JobDefinition,
    Keep,
    Kind,
    Overlap,
    Policy,
    RetryPolicy,
    ScheduleDefinition,
    Step,
    Ticking,
)
from tickwise.core.errors import InputError
from tickwise.core.model import Trigger
from tickwise.core.requirements import ALL, EVERYTHING, Offers
from tickwise.core.settle import Cancelled, Failed, HandedBack, Snoozed, Succeeded, Unmet
from tickwise.stores.records import Enqueue, LeaseRequest, Node, QueueLimit, Role
from tickwise.testing.conformance.world import START

T = TypeVar("T")
MINUTE, HOUR, DAY, FOR_GOOD = 60, 3_600, 86_400, 10**9
BEGIN = int(START.timestamp())
JOBS, QUEUES, NODES = ("a", "b", "c"), ("default", "other"), ("w1", "w2")
SCHEDULES_OF = {
    "a": ("a", "a.2", "a.stop", "shared"),
    "b": ("b", "b.2", "b.restart", "shared"),
    "c": ("c", "shared"),
}


def _one_offs(*seconds: int) -> At:
    return At(tuple(BEGIN + second for second in seconds), zone("UTC"))


def _policies() -> Iterator[tuple[str, Policy]]:
    for catchup in Catchup:
        for overlap in Overlap:
            lanes = 2 if overlap is Overlap.ALLOW else None
            try:
                yield f"{catchup}, {overlap}", Policy.of(catchup=catchup, overlap=overlap, max_active_runs=lanes)
            except InputError:
                continue
    yield "10 minutes", Policy.of(catchup_window=10 * MINUTE)


TIMES = {
    "minutes": parse("* * * * *"),
    "5 minutes": parse("*/5 * * * *"),
    "90 s": parse("@every 90s"),
    "hours": parse("0 * * * *"),
    "soon": _one_offs(-10 * MINUTE, -30, 5 * MINUTE),
    "late": _one_offs(2 * HOUR, 3 * DAY),
}
POLICIES = dict(_policies())
KNOBS: dict[str, dict[str, Any]] = {
    "few": {"max_catchup": 3},
    "strict": {"grace": 0},
    "patient": {"grace": 10 * MINUTE},
    "jitter": {"jitter": 50},
    "until": {"until": BEGIN + 2 * HOUR},
    "twice": {"max_runs": 2},
    "unless done": {"skip_if_successful": True},
    "after a": {"after": (After("a", HOUR),), "wait_for": 10 * MINUTE},
    "after both": {"after": (After("b", 10 * MINUTE), After("a", 5 * MINUTE))},
    "expires": {"expires": 30},
    "auto remove": {"auto_remove": True},
    "local": {"ticking": Ticking.LOCAL},
}
JOB_KNOBS: dict[str, dict[str, Any]] = {
    "function": {"steps": ()},
    "told otherwise": {"description": "told otherwise"},
    "disabled": {"enabled": False},
    "other": {"queue": "other"},
    "urgent": {"priority": 5},
    "retries": {"retry": RetryPolicy(2, interval=4, backoff=1.0)},  # too short to be spread by the run's id
    "once": {"at_most_once": True},
    "keep one": {"keep": Keep(runs=1)},
    "keep a day": {"keep": Keep(days=1)},
    "keep some": {"keep": Keep(days=2, runs=2)},
}
_STEPS = (Step("work", Command(("true",))),)


def schedule(name: str, times: str, policy: str, knobs: Sequence[str]) -> ScheduleDefinition:
    kind = next((kind for kind in Kind if name.endswith(f".{kind}")), Kind.START)
    turned = {key: value for knob in knobs for key, value in KNOBS[knob].items()}
    return ScheduleDefinition(name, "", TIMES[times], times, kind, replace(POLICIES[policy], **turned))


def job(name: str, schedules: Sequence[ScheduleDefinition], knobs: Sequence[str]) -> JobDefinition:
    turned = {key: value for knob in knobs for key, value in JOB_KNOBS[knob].items()}
    own = tuple({each.name: replace(each, job=name) for each in schedules}.values())
    return JobDefinition(name, **{"steps": _STEPS, "schedules": own, "priority": JOBS.index(name), **turned})


def rarely(usual: T, *others: T) -> st.SearchStrategy[T]:
    """Mostly the first."""
    return st.sampled_from((usual,) * 2 * len(others) + others)


def some(words: Any) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(tuple(words)), max_size=2, unique=True)


def _schedule_of(names: Sequence[str]) -> st.SearchStrategy[ScheduleDefinition]:
    return st.builds(
        schedule, st.sampled_from(names), rarely("minutes", *TIMES), st.sampled_from(tuple(POLICIES)), some(KNOBS)
    )


def job_of(name: str) -> st.SearchStrategy[JobDefinition]:
    first, others = _schedule_of((name,)), st.lists(_schedule_of(SCHEDULES_OF[name]), max_size=2)
    return st.builds(job, st.just(name), st.builds(lambda own, more: [own, *more], first, others), some(JOB_KNOBS))


numbers = st.integers(0, 20)
jobs = st.sampled_from(JOBS).flatmap(job_of)
sources = rarely("app", "folder")
short = st.sampled_from((1, 7, 30, MINUTE, 90, 5 * MINUTE))
long = st.sampled_from((20 * MINUTE, HOUR, 5 * HOUR, DAY, 2 * DAY))
steps_in_time = short | short | long | long | st.sampled_from((-30, -10 * MINUTE))
changes = st.sampled_from(
    (
        Reset(),
        Restored(1_767_225_600 + DAY),
        BackfillCancelled(),
        Paused("ann", "why"),
        Paused(),
        Resumed(),
        Resumed(True),
        Resumed(False),
    )
)
outcomes = st.sampled_from(
    (Succeeded(), Succeeded(), Failed(), Failed(retry_after=90), Cancelled(), Snoozed(45), HandedBack(), Unmet())
)
asked = st.builds(
    Enqueue,
    rarely("a", "b", "c", "d"),
    st.sampled_from((Trigger.ENQUEUE, Trigger.MANUAL)),
    params=st.sampled_from((None, {}, {"n": 1})),
    key=rarely(None, "k", "l"),
    allow_overlap=st.booleans(),
    by=st.sampled_from(("", "ann")),
    auto_remove=rarely(False, True),
)
reservations = st.builds(
    LeaseRequest,
    st.sampled_from(NODES),
    st.sampled_from((10, 2, 1, 0)),
    st.sampled_from((QUEUES, ("other", "default"), ("default",))),
    rarely(EVERYTHING, Offers.of(commands=[ALL])),
    rarely(30, 1_000),
)
nodes = st.builds(
    Node,
    st.sampled_from(NODES),
    st.sampled_from(((Role.WORKER,), (Role.TICKER, Role.WORKER), (Role.TICKER,))),
    queues=rarely(QUEUES, ("other",), ()),
    seconds=rarely(FOR_GOOD, 30),
)
limits = st.builds(
    QueueLimit, st.sampled_from(QUEUES), st.sampled_from((None, 1, 3)), st.sampled_from((None, 0.1, 2.5))
)
