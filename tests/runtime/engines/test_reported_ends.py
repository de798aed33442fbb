"""Ends that the work has reported: the engine forgets it, and hooks hear of it (S56)."""

from dataclasses import replace

import pytest

from tickwise.core.definition import RetryPolicy
from tickwise.core.settle import Cancelled, Failed, Outcome, Snoozed, Succeeded
from tickwise.core.states import Event, RunState
from tickwise.stores.records import Finish

from ...support.app import patiently
from ...support.engines.watch_post import JOB, Post
from ...support.worker import until


@patiently
async def test_an_end_that_the_engine_shows_first_is_forgotten_there_too() -> None:
    """A look finds the end before the watcher hears that the work has reported it (S56)."""
    post = await Post.open()
    run = await post.take()
    assert await post.begin()
    row = await post.row()
    assert row.hand_over is not None
    await post.world.store.finish([Finish(run, row.hand_over.token, Succeeded())])
    post.cluster.end("1.1", Succeeded())
    await post.looks()
    await post.renew()
    await until(lambda: not post.worker.busy and not post.cluster.has("1.1"))


@pytest.mark.parametrize(
    ("outcome", "event", "state"),
    [
        (Succeeded(), Event.SUCCESS, RunState.SUCCEEDED),
        (Failed(), Event.RETRY, RunState.QUEUED),
        (Snoozed(60), Event.SNOOZE, RunState.QUEUED),
        (Cancelled(), Event.CANCEL, RunState.CANCELLED),
    ],
)
@patiently
async def test_hooks_hear_of_ends_that_the_work_reports(outcome: Outcome, event: Event, state: RunState) -> None:
    """Each names its last watcher, so that of two nodes one calls the hook (S54)."""
    post = await Post.open(replace(JOB, retry=RetryPolicy(limit=1)))
    run = await post.take()
    assert await post.begin()
    post.world.clock.advance(31)
    other = post.beside("w2")
    await other.worker.turn()
    row = await post.row()
    assert row.hand_over is not None
    await post.world.store.finish([Finish(run, row.hand_over.token, outcome, error="it said")])
    for one in (post, other):
        await one.renew()
        await one.worker.close(0)
    (end,) = other.reported
    assert (end.lease.id, end.event, end.state, end.error, end.node) == (run, event, state, "it said", "w2")
    assert [former.node for former in post.reported] == ["w2"], (
        "a node reports only ends that it was last to watch"
    )
