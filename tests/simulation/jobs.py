"""The jobs that a world draws some of: each is there for a rule, and has another definition to be edited to."""

from random import Random

from tickwise.core.definition import After, JobDefinition, Kind, RetryPolicy, Ticking
from tickwise.testing.conformance.world import job, schedule

NARROW = "narrow"  # a queue with a limit
AFTER = (After("once", 600),)
ONCE_ONLY = frozenset({"single"})  # never begun twice (S43)

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


def drawn(chance: Random) -> dict[str, tuple[JobDefinition, JobDefinition]]:
    """Two or three of them; one that depends on another comes with it."""
    chosen = {name: _JOBS[name] for name in chance.sample(sorted(_JOBS), chance.choice((2, 3)))}
    if "once" in chosen:
        chosen["after"] = _DEPENDENT
    return {name: (one, other) if chance.random() < 0.7 else (other, one) for name, (one, other) in chosen.items()}
