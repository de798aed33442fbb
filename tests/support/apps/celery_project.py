"""A Celery app as users have one; the environment says where its broker is."""

import os
import signal

from celery import Celery
from celery.beat import ScheduleEntry

from tickwise import Run
from tickwise.engines.celery import Scheduler, install

app = Celery(
    "project",
    broker=os.environ.get("PROJECT_BROKER", "memory://"),
    backend=os.environ.get("PROJECT_BACKEND"),
)
app.conf.task_default_queue = os.environ.get("PROJECT_QUEUE", "celery")
app.conf.beat_schedule = {"tick": {"task": "project.tick", "schedule": 1.0, "args": (1,)}}
install(app)


@app.task(name="project.double")
def double(number: int) -> int:
    return 2 * number


class DyingScheduler(Scheduler):
    """Is killed after it has sent a message, before that is stored."""

    def publish(self, entry: ScheduleEntry, run: Run) -> None:
        super().publish(entry, run)
        os.kill(os.getpid(), signal.SIGKILL)
