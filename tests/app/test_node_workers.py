"""The workers of a node: one for runs here, one for runs on engines."""

from dataclasses import replace
from typing import Any

import pytest

from tickwise import Tickwise
from tickwise.app.node_workers import NodeWorkers, WorkerCallbacks, make_workers
from tickwise.app.registry import Registry
from tickwise.config import load
from tickwise.core.errors import InputError
from tickwise.runtime.engines.catalog import ConfiguredEngine
from tickwise.sources.defaults import Defaults
from tickwise.stores.memory.store import MemoryStore
from tickwise.stores.records import Role
from tickwise.testing.engines.fake import FakeEngine

from ..support.app import Clock, patiently

ENGINE = ConfiguredEngine("gpu", f"{FakeEngine.__module__}:{FakeEngine.__qualname__}")
SERVES = (Role.TICKER, Role.WORKER, Role.API)


def workers(roles: tuple[Role, ...] = SERVES, **given: Any) -> NodeWorkers:
    settings = replace(load({}, {}), **{"engines": {"gpu": ENGINE}, **given})
    callbacks = WorkerCallbacks(
        frozenset, lambda _lease: None, lambda _lease, _finish, _settled: None, lambda _end: None
    )
    return make_workers(settings, MemoryStore(Clock()), "n", Registry(Defaults), roles, callbacks)


@patiently
async def test_a_node_with_engines_has_a_watcher() -> None:
    """It offers the engines beside what the worker offers, with a room of its own."""
    both = workers(watch_concurrency=500)
    assert both.local is not None
    assert both.watcher is not None
    assert (both.local.concurrency, both.watcher.concurrency) == (10, 500)
    assert both.offers.allow("engine:gpu")
    assert not both.local.offers.allow("engine:gpu")
    assert (both.busy, both.held()) == (0, {})


@patiently
async def test_a_node_without_the_role_has_none() -> None:
    """Nor does one without engines have a watcher."""
    assert workers((Role.TICKER,)).all == ()
    assert workers(engines={}).watcher is None


@pytest.mark.parametrize(
    ("given", "roles"),
    [({"port": 0}, SERVES), ({"host": "0.0.0.0"}, SERVES), ({}, (Role.WORKER,))],  # noqa: S104
)
@patiently
async def test_work_on_engines_must_find_the_api(given: dict[str, Any], roles: tuple[Role, ...]) -> None:
    """A node that cannot know its address says which setting tells it."""
    with pytest.raises(InputError, match="set api_url"):
        workers(roles, **given)
    assert workers(roles, **given, api_url="https://tick.example.com/").watcher is not None


def module_level() -> None:
    """A function that an engine can import."""


def test_a_function_is_imported_by_its_name_on_the_other_side() -> None:
    """So it must have one, in a module that can be imported."""
    with Tickwise("memory://", engines={"gpu": ENGINE}) as tw:
        tw.job(engine="gpu")(module_level)
        with pytest.raises(InputError, match="this one is local: move it out"):

            @tw.job(engine="gpu")
            def local() -> None: ...

        module_level.__module__ = "__main__"
        try:
            with pytest.raises(InputError, match="move it into a module of its own"):
                tw.job(engine="gpu", name="other")(module_level)
        finally:
            module_level.__module__ = __name__
        assert tw.jobs.list() == ["module_level"]


def test_a_module_can_be_imported_where_its_engine_is_not_named() -> None:
    """Workers of the engine import it, and have no settings of ours; it is refused when it is to be written."""
    with Tickwise("memory://") as tw:
        tw.job(engine="gpus")(module_level)
        with pytest.raises(InputError, match=r"module_level: engine: the settings name no engine 'gpus'"):
            tw.jobs.list()
