"""Tickwise in a Celery app: `install` for its workers, `Scheduler` for its beat, `tell_fires` for shadow mode.

    app = Celery("proj", broker="redis://…")
    tickwise.engines.celery.install(app)

`install` adds the task `tickwise.run`, by which a watcher hands attempts over (`runtime.engines.celery`). A
message is no permission to begin: the task asks the gate first, and a second delivery leaves no trace, not even a
result.

The work is executed in a thread beside the one that Celery has for the task. So a soft time limit, which Celery
raises in the main thread of a process of its pool, ends the work in order, and its end is reported.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Lock, Thread
from typing import Any

from celery import Celery, Task, states
from celery.exceptions import Ignore

from ..core.definition import JobDefinition
from ..core.errors import no_such
from ..runtime.engines.celery import TASK
from .beat import Scheduler
from .beat_fires import tell_fires
from .remote import FunctionOf, execute_attempt, imported_function

__all__ = ["Scheduler", "install", "tell_fires"]


def install(app: Celery) -> Task:
    """Add the task that executes attempts to an app; its workers need nothing else.

    The message is acknowledged when the work is over. So one that reached a worker which was killed before the
    gate was asked is delivered again, and begins then; any later one is turned away.
    """

    def execute(task: Task, environment: Mapping[str, str]) -> None:
        task_id = task.request.id

        def on_begin() -> None:
            with suppress(Exception):  # it is only for people and looks
                task.update_state(task_id, states.STARTED)

        if not AttemptThread(environment, _function_of(app), on_begin).run():
            raise Ignore

    return app.task(execute, name=TASK, bind=True, acks_late=True, reject_on_worker_lost=True)


def _function_of(app: Celery) -> FunctionOf:
    """The task of the app that a job names, or else the function that it imports."""

    def function_of(job: JobDefinition) -> Callable[..., Any] | None:
        name = job.engine.options.get("task") if job.engine else None
        if name is None:
            return imported_function(job)
        if name not in app.tasks:
            raise no_such("Celery task", name, app.tasks, ": see that the worker imports its module")
        task = app.tasks[name]

        def call(**params: Any) -> Any:
            return task(**params)

        return call

    return function_of


class AttemptThread:
    """Executes one attempt in a thread of its own, for a caller who may be interrupted."""

    def __init__(
        self, environment: Mapping[str, str], function_of: FunctionOf, on_begin: Callable[[], None]
    ) -> None:
        self._environment = environment
        self._function_of = function_of
        self._on_begin = on_begin
        self._lock = Lock()
        self._stop: Callable[[], None] | None = None
        self._interrupted = False
        self._result: bool | BaseException = False

    def run(self) -> bool:
        """Whether the attempt was executed; what interrupts the caller ends it, and is raised again afterwards."""
        thread = Thread(target=self._execute, name="tickwise-attempt", daemon=True)
        thread.start()
        try:
            thread.join()
        except BaseException:
            self._interrupt()
            thread.join()
            raise
        if isinstance(self._result, BaseException):
            raise self._result
        return self._result

    def _execute(self) -> None:
        try:
            self._result = execute_attempt(self._environment, function_of=self._function_of, on_begin=self._begun)
        except BaseException as error:  # noqa: BLE001  (it is raised where it belongs)
            self._result = error

    def _begun(self, stop: Callable[[], None]) -> None:
        with self._lock:
            self._stop = stop
            if self._interrupted:
                stop()
        self._on_begin()

    def _interrupt(self) -> None:
        with self._lock:
            self._interrupted = True
            if self._stop:
                self._stop()
