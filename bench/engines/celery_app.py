"""The Celery app whose worker executes what is handed over, and what beat publishes: one task for both."""

import os
from functools import cache

from celery import Celery
from redis import Redis

from tickwise.engines.celery import install

BROKER, QUEUE = "TICKWISE_BENCH_BROKER", "TICKWISE_BENCH_QUEUE"
TASK = "bench.count"

app = Celery("bench", broker=os.environ.get(BROKER, "memory://"))
app.conf.task_default_queue = os.environ.get(QUEUE, "celery")
app.conf.task_ignore_result = True
install(app)


@cache
def _counter() -> "Redis":
    return Redis.from_url(os.environ[BROKER])


@app.task(name=TASK)  # type: ignore[untyped-decorator]  # Celery has no types
def count() -> None:
    """Say that one more was executed."""
    _counter().incr(counter_of(os.environ[QUEUE]))


def counter_of(queue: str) -> str:
    return f"{queue}-executed"
