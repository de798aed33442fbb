"""The backend of Django's tasks: `TASKS = {"default": {"BACKEND": "tickwise.django.tasks.TickwiseBackend"}}`.

Each task is a job of its own, named by its function: whatever there is for jobs there is for tasks.
`OPTIONS` are the fields of these jobs, such as `{"retry": {"limit": 3}}`. Arguments are stored by name.

Django has tasks since version 6; for 5.2 the package `django-tasks` has the same.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, iscoroutinefunction, signature
from traceback import format_exception
from typing import Any

from django.apps import apps
from django.core import checks
from django.utils.module_loading import import_string

from ..app.values import RunInfo
from ..core.errors import InputError, NotFoundError, TickwiseError
from ..core.states import RunState
from ..runtime.context import Run
from . import tw

try:
    from django.tasks import TaskContext, TaskResult, TaskResultStatus
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.base import Task, TaskError
    from django.tasks.exceptions import InvalidTask as InvalidTaskError
    from django.tasks.exceptions import TaskResultDoesNotExist
    from django.tasks.signals import task_enqueued, task_finished, task_started
except ImportError:
    from django_tasks.backends.base import BaseTaskBackend
    from django_tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
    from django_tasks.exceptions import InvalidTaskError, TaskResultDoesNotExist
    from django_tasks.signals import task_enqueued, task_finished, task_started

__all__ = ["InvalidTaskError", "TaskResultDoesNotExist", "TickwiseBackend", "task_enqueued", "task_finished"]
__all__ += ["task_started"]

_STATUSES = {
    RunState.QUEUED: TaskResultStatus.READY,
    RunState.RUNNING: TaskResultStatus.RUNNING,
    RunState.SUCCEEDED: TaskResultStatus.SUCCESSFUL,
}  # all others: failed
_RUN, _CONTEXT = "run", "context"
_UNNAMED = (Parameter.VAR_POSITIONAL, Parameter.POSITIONAL_ONLY)
_declared: dict[str, Task] = {}


class TickwiseBackend(BaseTaskBackend):
    """Enqueues tasks as runs, inside the transaction that is open."""

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def validate_task(self, task: Task) -> None:
        """Refuse what cannot be a job, and declare the others."""
        super().validate_task(task)
        if task.module_path in _declared:
            return
        for parameter in signature(task.func).parameters.values():
            if parameter.kind in _UNNAMED or parameter.name == _RUN:
                raise InvalidTaskError(
                    f"{task.module_path}: {parameter.name} cannot be given by name: arguments are stored by their "
                    f"names, and {_RUN!r} is a name of Tickwise's own"
                )
        options = {"queue": task.queue_name, "priority": task.priority, **self.options}
        try:
            tw.job(name=task.module_path, **options)(_job_of(task, type(self)))
        except InputError as error:
            raise InvalidTaskError(str(error)) from None
        _declared[task.module_path] = task

    def enqueue(self, task: Task, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TaskResult:
        """Queue a run of the task's job."""
        params = _by_name(task, args, kwargs)
        run = tw.enqueue(
            task.module_path, params, at=task.run_after, queue=task.queue_name, priority=task.priority
        )
        result = _result_of(task, run)
        task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> TaskResult:
        """The result of a run, by its id."""
        try:
            run = tw.runs.get(result_id)
        except (NotFoundError, InputError) as error:
            raise TaskResultDoesNotExist(str(error)) from None
        return _result_of(_task_of(run), run)

    def check(self, **_: Any) -> list[checks.CheckMessage]:
        if apps.is_installed("tickwise.django"):
            return []
        hint = 'Add "tickwise.django" to INSTALLED_APPS: it imports the tasks of all apps.'
        return [checks.Error("The backend of tasks needs the app of Tickwise.", hint, id="tickwise.E001")]


def _by_name(task: Task, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments as params; TypeError if they do not fit, as the call itself would raise it."""
    known = signature(task.func)
    bound = known.bind(*((None, *args) if task.takes_context else args), **kwargs).arguments
    if task.takes_context:
        del bound[_CONTEXT]
    for parameter in known.parameters.values():
        if parameter.kind is Parameter.VAR_KEYWORD:
            bound |= bound.pop(parameter.name, {})
    return bound


def _job_of(task: Task, backend: type) -> Callable[..., Any]:
    """The function of a task's job: the task's parameters, and the run."""
    parameters = [one for one in signature(task.func).parameters.values() if one.name != _CONTEXT]
    own = Parameter(_RUN, Parameter.KEYWORD_ONLY)
    at = next((n for n, one in enumerate(parameters) if one.kind is Parameter.VAR_KEYWORD), len(parameters))

    def begin(run: Run) -> tuple[TaskResult, tuple[TaskContext, ...]]:
        result = _running(task, run)
        task_started.send(backend, task_result=result)
        return result, (TaskContext(task_result=result),) if task.takes_context else ()

    def call(*, run: Run, **params: Any) -> Any:
        result, context = begin(run)
        try:
            value = task.func(*context, **params)
        except Exception as error:
            _finish(backend, result, error=error)
            raise
        _finish(backend, result, value)
        return value

    async def call_async(*, run: Run, **params: Any) -> Any:
        result, context = begin(run)
        try:
            value = await task.func(*context, **params)
        except Exception as error:
            _finish(backend, result, error=error)
            raise
        _finish(backend, result, value)
        return value

    function: Callable[..., Any] = call_async if iscoroutinefunction(task.func) else call
    known = signature(task.func).replace(
        parameters=[*(one.replace(kind=Parameter.KEYWORD_ONLY) for one in parameters[:at]), own, *parameters[at:]]
    )
    function.__signature__ = known  # type: ignore[attr-defined]  # (how a function says what it takes)
    function.__module__, function.__qualname__ = task.func.__module__, task.func.__qualname__
    return function


def _running(task: Task, run: Run) -> TaskResult:
    """The result of an attempt that begins."""
    return TaskResult(
        task=task, id=run.id, status=TaskResultStatus.RUNNING, enqueued_at=None, started_at=None,
        finished_at=None, last_attempted_at=None, args=[], kwargs=dict(run.params), backend=task.backend,
        errors=[], worker_ids=[""] * run.attempt,
    )  # fmt: skip


def _finish(backend: type, result: TaskResult, value: Any = None, error: Exception | None = None) -> None:
    if error is None:
        object.__setattr__(result, "_return_value", value)
    else:
        kind = type(error)
        trace = "".join(format_exception(error))
        result.errors.append(
            TaskError(exception_class_path=f"{kind.__module__}.{kind.__qualname__}", traceback=trace)
        )
    status = TaskResultStatus.SUCCESSFUL if error is None else TaskResultStatus.FAILED
    object.__setattr__(result, "status", status)
    task_finished.send(backend, task_result=result)


def _task_of(run: RunInfo) -> Task:
    """The task whose job a run is of."""
    if run.job in _declared:
        return _declared[run.job]
    try:
        found = import_string(run.job)
    except ImportError:
        found = None
    if not isinstance(found, Task):
        raise TaskResultDoesNotExist(f"the run {run.id} is of the job {run.job}, which is no task")
    return found


def _result_of(task: Task, run: RunInfo) -> TaskResult:
    status = _STATUSES.get(RunState(run.state), TaskResultStatus.FAILED)
    errors = [_error_of(run.error)] if run.error else []
    result = TaskResult(
        task=task, id=run.id, status=status, enqueued_at=run.created_at, started_at=run.started_at,
        finished_at=run.finished_at, last_attempted_at=run.started_at, args=[], kwargs=dict(run.params),
        backend=task.backend, errors=errors, worker_ids=[run.worker or ""] * run.attempt,
    )  # fmt: skip
    object.__setattr__(result, "_return_value", run.result)
    return result


def _error_of(text: str) -> TaskError:
    """The error of a run; what was no exception, such as a timeout, is an error of Tickwise."""
    name = re.escape(text.partition(":")[0].partition("\n")[0])
    found = re.findall(rf"^((?:[\w.]+\.)?{name})(?::|$)", text.partition("\n")[2], re.MULTILINE)
    known = f"{TickwiseError.__module__}.{TickwiseError.__qualname__}"
    path = found[-1] if found else known
    return TaskError(exception_class_path=path if "." in path else f"builtins.{path}", traceback=text)
