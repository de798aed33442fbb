"""Django's tasks on Tickwise: `django-tasks` on Django 5.2, Django's own from 6.0 on."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core import checks
from django.test import override_settings

from tickwise.django import tasks as backend
from tickwise.django import tw
from tickwise.django.tasks import _error_of
from tickwise.testing import FakeClock

from .shop import tasks as shop_tasks


@pytest.fixture
def session() -> Iterator[Any]:
    """The project's scheduler on a clock of its own."""
    with tw.testing(FakeClock(datetime(2026, 1, 1, tzinfo=UTC))) as session:
        yield session


@pytest.fixture
def tasks() -> Any:
    return shop_tasks


def test_a_task_is_enqueued_executed_and_has_a_result(session: Any, tasks: Any) -> None:
    """Arguments are bound by name; queue and priority are the task's; the result is that of the function."""
    result = tasks.send_mail.enqueue("ada", subject="hi")
    assert (result.status, result.kwargs, result.attempts) == ("READY", {"to": "ada", "subject": "hi"}, 0)
    run = tw.runs.get(result.id)
    assert (run.job, run.queue, run.priority) == ("tests.django_app.shop.tasks.send_mail", "mail", 5)
    session.play(until="1h")
    result.refresh()
    assert (result.status, result.return_value, result.attempts) == ("SUCCESSFUL", "hi ada", 1)
    assert tasks.send_mail.get_result(result.id).started_at == datetime(2026, 1, 1, tzinfo=UTC)


def test_a_task_may_be_deferred_and_take_its_context(session: Any, tasks: Any) -> None:
    """`run_after` is the time of the run; the context tells the attempt and the id."""
    later = datetime(2026, 1, 2, tzinfo=UTC)
    result = tasks.with_context.using(run_after=later).enqueue(a="b")
    session.play(until="12h")
    assert result.status == "READY"
    session.play(until="24h")
    result.refresh()
    assert result.return_value == [1, result.id, {"a": "b"}]
    assert result.started_at == later


def test_a_task_that_fails_says_how(session: Any, tasks: Any) -> None:
    """OPTIONS are fields of the job: it is tried again; in the end the result names the exception's class."""
    result = tasks.fail.enqueue(7)
    session.play(until="30m")
    result.refresh()
    assert (result.status, result.attempts) == ("READY", 1)
    session.play(until="2h")
    result.refresh()
    (error,) = result.errors
    assert (result.status, result.attempts, error.exception_class) == ("FAILED", 2, LookupError)
    assert "no order 7" in error.traceback


def test_signals_tell_of_a_task_as_it_goes(session: Any, tasks: Any) -> None:
    """Those of Django are sent: enqueued, started, finished."""
    told: list[tuple[str, str, str]] = []
    signals = {
        "enqueued": backend.task_enqueued,
        "started": backend.task_started,
        "finished": backend.task_finished,
    }
    receivers = {}
    for name, signal in signals.items():

        def tell(task_result: Any, name: str = name, **_: Any) -> None:
            told.append((name, task_result.id, str(task_result.status.value)))

        receivers[name] = tell
        signal.connect(tell, weak=False)
    good, bad = tasks.send_mail.enqueue("ada"), tasks.fail.enqueue(1)
    session.play(until="10m")
    for name, signal in signals.items():
        signal.disconnect(receivers[name])
    assert told[:2] == [("enqueued", good.id, "READY"), ("enqueued", bad.id, "READY")]
    assert sorted(told[2:]) == sorted(
        [
            ("started", good.id, "RUNNING"), ("finished", good.id, "SUCCESSFUL"),
            ("started", bad.id, "RUNNING"), ("finished", bad.id, "FAILED"),
        ]
    )  # fmt: skip


@pytest.mark.usefixtures("session")
def test_what_cannot_be_a_task_is_refused(tasks: Any) -> None:
    """At the declaration, or at the call; and a result that is not there, or of no task, does not exist."""
    with pytest.raises(backend.InvalidTaskError, match="args cannot be given by name"):
        type(tasks.fail)(func=_takes_any, backend="default", queue_name="default", priority=0, run_after=None)
    with pytest.raises(TypeError, match="missing a required argument: 'to'"):
        tasks.send_mail.enqueue()
    with pytest.raises(backend.InvalidTaskError, match="Queue 'other'"):
        tasks.fail.using(queue_name="other")
    with pytest.raises(backend.TaskResultDoesNotExist):
        tasks.fail.get_result("12345")
    run = tw.enqueue("ship", {"order": 1})
    with pytest.raises(backend.TaskResultDoesNotExist, match="of the job ship, which is no task"):
        tasks.fail.get_result(run.id)


def _takes_any(*args: Any) -> None: ...


def test_the_check_names_the_app_that_is_missing(tasks: Any) -> None:
    """Without the app in INSTALLED_APPS nobody imports the tasks on a worker."""
    used = tasks.fail.get_backend()
    assert used.check() == []
    with override_settings(INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth"]):
        (problem,) = used.check()
    assert isinstance(problem, checks.Error)
    assert 'Add "tickwise.django"' in str(problem.hint)


def test_a_timeout_is_an_error_of_tickwise() -> None:
    """What ended a run without an exception has a class too."""
    assert _error_of("the run timed out after 5 s").exception_class_path == "tickwise.core.errors.TickwiseError"
