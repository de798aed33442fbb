"""How fast a simulation is: a month of a hundred mixed schedules through the planner."""

from functools import partial

from tickwise.core.cron import parse
from tickwise.core.definition import Catchup, JobDefinition, Policy, ScheduleDefinition
from tickwise.core.simulation.simulate import Scenario, simulate
from tickwise.core.timeparse import floor_second

from ..measure import Figures, Progress, best_of
from . import workload
from .workload import TimeSize

COUNT = 100
_DAY = 86_400
_MIX = (  # how many of a hundred have which cron text
    (1, "*/5 * * * *"),
    (7, "*/15 * * * *"),
    (22, "H * * * *"),
    (10, "H */4 * * *"),
    (40, "H H * * *"),
    (12, "H H * * MON-FRI"),
    (5, "H H * * SUN"),
    (3, "H H 1 * *"),
)


def name(size: TimeSize) -> str:
    return f"simulate {size.days} days of {COUNT} mixed schedules"


def _measure(size: TimeSize, _: Progress) -> Figures:
    """Half of the jobs take ten minutes, and for six hours the fleet is down."""
    jobs = [_job(f"job-{i}", text, i) for i, text in enumerate(text for count, text in _MIX for _ in range(count))]
    start = floor_second(workload.NOW) // _DAY * _DAY
    scenario = Scenario(
        jobs=jobs,
        start=start,
        end=start + size.days * _DAY,
        down=((start + _DAY // 2, start + 3 * _DAY // 4),),
        run_time={job.name: 600 for job in jobs[::2]},
    )
    (timed,) = best_of(min(size.repeats, 2), lambda: partial(simulate, scenario))
    yield name(size), timed.seconds, "s", None
    yield f"{name(size)}, each slot", timed.seconds / len(timed.result) * 1e6, "µs", None


def _job(key: str, text: str, i: int) -> JobDefinition:
    policy = Policy.of(catchup=list(Catchup)[i % 3])
    times = parse(text, "Europe/Berlin" if i % 2 else "UTC", key)
    return JobDefinition(key, schedules=(ScheduleDefinition(key, key, times, text, policy=policy),))


MEASURES = {"a simulated month": _measure}
