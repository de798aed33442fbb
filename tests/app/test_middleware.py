"""Middleware around jobs: it wraps each execution of a function, in its thread or its task (ADR 58)."""

import threading
from collections.abc import Iterator
from contextlib import nullcontext
from contextvars import ContextVar
from typing import Any

import pytest

from tickwise import InputError, Retry, Run, Tickwise

USER: ContextVar[str] = ContextVar("USER", default="nobody")
module_app = Tickwise("memory://")


@module_app.middleware
def _printing(run: Run) -> Iterator[None]:
    print(f"before {run.job}")
    yield
    print("after")


@module_app.job(pool="process")
def in_process() -> None:
    print("inside")


@module_app.job(pool="process")
async def in_process_async() -> None:
    print("inside")


@pytest.mark.parametrize("is_async", [False, True])
def test_a_middleware_sets_what_the_function_sees_in_order(tw: Tickwise, is_async: bool) -> None:
    """ADR 58: the first is outermost; each gets the run, in the context and the thread of the call."""
    told: list[Any] = []

    @tw.middleware
    def outer(run: Run) -> Iterator[None]:
        told.append(("outer", run.job, run.attempt, threading.get_ident()))
        token = USER.set("ada")
        yield
        USER.reset(token)
        told.append("end of outer")

    @tw.middleware
    def inner(run: Run) -> Iterator[None]:
        told.append(("inner", USER.get(), dict(run.params)))
        yield
        told.append("end of inner")

    def work(table: str) -> str:
        told.append((USER.get(), table, threading.get_ident()))
        return USER.get()

    async def work_async(table: str) -> str:
        return work(table)

    tw.job(name="work")(work_async if is_async else work)
    run = tw.enqueue("work", {"table": "orders"})
    tw.drain()
    assert tw.runs.get(run.id).result == "ada"
    thread = told[0][-1]
    assert told == [
        ("outer", "work", 1, thread),
        ("inner", "ada", {"table": "orders"}),
        ("ada", "orders", thread),
        "end of inner",
        "end of outer",
    ]
    assert USER.get() == "nobody"


@pytest.mark.parametrize("is_async", [False, True])
def test_a_middleware_may_see_change_and_swallow_an_exception(tw: Tickwise, is_async: bool) -> None:
    """ADR 58, S44: what it raises is what the function raised; what it swallows is a success without a result."""

    @tw.middleware
    def kind(_run: Run) -> Iterator[None]:
        try:
            yield
        except KeyError:
            raise Retry("1h", "not there yet") from None
        except ZeroDivisionError:
            pass

    def fail(how: str) -> None:
        raise {"key": KeyError, "zero": ZeroDivisionError, "value": ValueError}[how](how)

    async def fail_async(how: str) -> None:
        fail(how)

    tw.job(name="fail", retry={"limit": 1})(fail_async if is_async else fail)
    runs = [tw.enqueue("fail", {"how": how}, key=how) for how in ("key", "zero", "value")]
    tw.drain()
    found = [tw.runs.get(run.id) for run in runs]
    assert [run.state for run in found[:2]] == ["queued", "succeeded"]
    assert "not there yet" in found[0].error
    assert "ValueError: value" in found[2].error


def test_a_middleware_that_fails_ends_the_attempt_and_says_what_is_wrong(tw: Tickwise) -> None:
    """ADR 58, S46: an error before the function costs that attempt, and the function is not called."""
    called: list[int] = []
    tw.middleware(lambda run: nullcontext() if run.job == "fine" else 7)  # type: ignore[type-var]  # (wrong on purpose)
    tw.job(name="fine")(lambda: called.append(1))
    tw.job(name="wrong")(lambda: called.append(2))
    wrong, fine = tw.enqueue("wrong"), tw.enqueue("fine")
    tw.drain()
    assert called == [1]
    assert tw.runs.get(fine.id).state == "succeeded"
    assert "returned int: let it yield once, or return a context manager" in tw.runs.get(wrong.id).error


def test_an_async_middleware_is_refused() -> None:
    """ADR 58: one kind wraps both kinds of function, so another kind is refused where it is given."""

    async def slow(_run: Run) -> Any:
        yield

    with pytest.raises(InputError, match="slow is async: write it with def"):
        Tickwise("memory://").middleware(slow)
    with pytest.raises(InputError, match="7 is no middleware"):
        Tickwise("memory://").middleware(7)  # type: ignore[type-var]


@pytest.mark.parametrize("name", ["in_process", "in_process_async"])
def test_a_function_in_a_process_of_its_own_has_the_middleware_too(name: str) -> None:
    """ADR 58: the function carries the middleware of its app to where it is imported by its name."""
    run = module_app.enqueue(name)
    module_app.drain()
    assert module_app.runs.get(run.id).state == "succeeded"
    assert module_app.runs.logs(run.id) == f"before {name}\ninside\nafter\n"
