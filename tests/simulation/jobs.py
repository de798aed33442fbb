"""The jobs that a world draws some of: each is there for a rule, and has another definition to be edited to."""

from random import Random
from typing import Any

from tickwise.core.definition import After, EngineUse, JobDefinition, Kind, RetryPolicy, Ticking
from tickwise.testing.conformance.world import job, schedule

NARROW = "narrow"  # a queue with a limit
AFTER = (After("once", 600),)
ONCE_ONLY = frozenset({"single", "far-single"})  # never begun twice (S43)

_JOBS: dict[str, tuple[JobDefinition, JobDefinition]] = {
    each.name: (each, other)
    for each, other in (
        (job("once", "* * * * *"), job("once", "*/2 * * * *", retry=RetryPolicy(1, interval=5))),
        (job("queue", "*/2 * * * *", catchup="all"), job("queue", "* * * * *", catchup_window=120)),
        (
            job(
                "pair",
                "* * * * *",
                overlap="allow",
                max_active_runs=2,
                catchup="all",
                retry=RetryPolicy(2, interval=10),
            ),
            job("pair", "*/3 * * * *", overlap="allow", max_active_runs=2, catchup="all", retry=RetryPolicy(1)),
        ),
        (job("latest", "@every 40s", overlap="latest"), job("latest", "@every 90s", overlap="replace")),
        (
            job("skip", "* * * * *", catchup="skip", ticking=Ticking.LOCAL),
            job("skip", "* * * * *", catchup="all", queue=NARROW),
        ),
        (
            job("single", "* * * * *", at_most_once=True, queue=NARROW),
            job("single", "* * * * *", at_most_once=True, jitter=20, queue=NARROW),
        ),
        (
            job("stopped", "*/2 * * * *", also=(schedule("stopped.stop", "1-59/4 * * * *", kind=Kind.STOP),)),
            job("stopped", "* * * * *", also=(schedule("stopped.restart", "1-59/4 * * * *", kind=Kind.RESTART),)),
        ),
    )
}
_DEPENDENT = (
    job("after", "*/2 * * * *", after=AFTER, wait_for=60),
    job("after", "* * * * *", after=AFTER, catchup="all", wait_for=300),
)


PATIENCE = 60  # seconds: of an engine, which is the job's time limit


def _handed(name: str, engine: str, times: str, **given: Any) -> JobDefinition:
    return job(name, times, engine=EngineUse(engine), timeout=PATIENCE, **given)


_HANDED: dict[str, tuple[JobDefinition, JobDefinition]] = {
    each.name: (each, other)
    for each, other in (
        (
            _handed("far", "gpu", "* * * * *", catchup="all", retry=RetryPolicy(2, interval=5)),
            _handed("far", "gpu", "@every 40s", overlap="replace", retry=RetryPolicy(1)),
        ),
        (
            _handed("far-single", "gpu", "* * * * *", at_most_once=True),
            _handed("far-single", "broker", "*/2 * * * *", at_most_once=True, queue=NARROW),
        ),
        (
            _handed("sent", "broker", "* * * * *", overlap="allow", max_active_runs=2, retry=RetryPolicy(1)),
            _handed("sent", "broker", "@every 40s", overlap="replace"),
        ),
        (
            _handed("batch", "batch", "* * * * *", retry=RetryPolicy(1, interval=5)),
            _handed("batch", "batch", "@every 40s", overlap="replace"),
        ),
    )
}


def drawn_for_engines(chance: Random) -> dict[str, tuple[JobDefinition, JobDefinition]]:
    """One or two that engines execute, in every other world."""
    names = chance.sample(sorted(_HANDED), chance.choice((0, 0, 1, 2)))
    return {name: _HANDED[name] if chance.random() < 0.7 else _HANDED[name][::-1] for name in names}


def drawn(chance: Random) -> dict[str, tuple[JobDefinition, JobDefinition]]:
    """Two or three of them; one that depends on another comes with it."""
    chosen = {name: _JOBS[name] for name in chance.sample(sorted(_JOBS), chance.choice((2, 3)))}
    if "once" in chosen:
        chosen["after"] = _DEPENDENT
    return {name: (one, other) if chance.random() < 0.7 else (other, one) for name, (one, other) in chosen.items()}
