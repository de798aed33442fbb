"""How much is measured, and the environment variables that configure `lateness_app`."""

from dataclasses import dataclass

JOB_COUNT, INTERVAL, OUTPUT_FILE = "TICKWISE_BENCH_JOBS", "TICKWISE_BENCH_INTERVAL", "TICKWISE_BENCH_OUTPUT"


@dataclass(frozen=True, slots=True)
class RuntimeSize:
    """How much is measured."""

    same_second: int  # schedules that are due on one second
    interval: int  # seconds between two such bursts
    requests: int  # per second, to the API of the same server
    bursts: int  # that count, after a first that does not
    turns: int  # into which the bursts are divided
    stored: int  # schedules in the store of an idle server
    seconds: int  # for which the idle server is observed


FULL = RuntimeSize(same_second=1_000, interval=4, requests=1_000, bursts=12, turns=3, stored=100_000, seconds=20)
QUICK = RuntimeSize(  # for tests: the figures mean nothing
    same_second=20, interval=1, requests=10, bursts=1, turns=1, stored=50, seconds=1
)
