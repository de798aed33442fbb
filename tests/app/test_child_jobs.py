"""Steps that are runs of other jobs, through workers and stores (S74)."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tickwise import AsyncTickwise
from tickwise.core.states import RunState
from tickwise.stores.records import RunFilter, RunRow

from ..support.app import patiently

CHILD: dict[str, Any] = {
    "params": {"shop": "none", "rows": []},
    "steps": [
        {"name": "count", "script": "echo '{\"first\": 1}'"},
        {
            "name": "load",
            "depends": "count",
            "script": 'test "$TICKWISE_PARAM_SHOP" != bad || exit 3\n'
            'echo "shop=$TICKWISE_PARAM_SHOP" >> $TICKWISE_OUTPUT\n'
            'echo "rows=$TICKWISE_PARAM_ROWS" >> $TICKWISE_OUTPUT',
        },
    ],
}


def parent(*steps: dict[str, Any], **job: Any) -> dict[str, Any]:
    return {"steps": list(steps), **job}


LOAD = {"name": "load", "job": "load-shop", "params": {"shop": "eu"}}


async def app_with(jobs: dict[str, dict[str, Any]], url: str = "memory://") -> AsyncTickwise:
    app = AsyncTickwise(url, allow_commands=True)
    for name, fields in jobs.items():
        await app.schedules.add(name, schedule="@yearly", **fields)
    return app


async def children_of(app: AsyncTickwise, job: str = "load-shop") -> list[RunRow]:
    """Oldest first."""
    found = await (await app.store()).insights.runs(RunFilter(job=job))
    return list(found.items[::-1])


async def steps_of(app: AsyncTickwise, run: str) -> dict[str, str]:
    return {step.name: step.state for step in await (await app.store()).insights.steps(run)}


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@patiently
async def test_a_child_runs_and_hands_on(store: str, tmp_path: Path) -> None:
    """S74: a child gets its params and hands on what its last steps do; the parent stays in one attempt."""
    steps: list[dict[str, Any]] = [
        {"name": "list", "script": "echo '{\"rows\": [1, 2]}'"},
        {**LOAD, "depends": "list", "params": {"shop": "the ${run.job}", "rows": "${steps.list.outputs.rows}"}},
        {
            "name": "tell",
            "depends": "load",
            "command": ["echo", "${steps.load.outputs.shop}", "${steps.load.outputs.rows}"],
        },
    ]
    url = f"sqlite:///{tmp_path}/t.db" if store == "sqlite" else "memory://"
    app = await app_with({"load-shop": CHILD, "shops": parent(*steps)}, url)
    run = await app.enqueue("shops")
    await app.drain()
    (child,) = await children_of(app)
    assert (child.params, child.trigger, child.by) == (
        {"shop": "the shops", "rows": [1, 2]},
        "step",
        f"run {run.id}",
    )
    log = (await (await app.store()).insights.log(run.id)).items
    assert [part.text for part in log if part.step == "tell"] == ["the shops [1, 2]\n"]
    row = await app.runs.get(run.id)
    assert (row.state, row.attempt) == ("succeeded", 1)
    await app.close()


@patiently
async def test_the_failure_of_a_child_is_the_steps() -> None:
    """S74: the step fails with the child's error; other branches go on, and are not repeated after that."""
    bad = {**LOAD, "params": {"shop": "bad"}, "continue_on": ["failed"]}
    side = {"name": "side", "script": "echo once; exit 4"}
    app = await app_with(
        {"load-shop": CHILD, "shops": parent(bad, side, {"name": "then", "depends": "load", "command": "true"})}
    )
    run = await app.enqueue("shops")
    await app.drain()
    row, store = await app.runs.get(run.id), await app.store()
    assert (row.state, row.error) == ("failed", "step side: exit code 4")
    assert await steps_of(app, run.id) == {"load": "failed", "side": "failed", "then": "succeeded"}
    load = next(step for step in await store.insights.steps(run.id) if step.name == "load")
    (child,) = await children_of(app)
    assert load.error == f"run {child.id} of load-shop is failed: step load: exit code 3"
    assert json.loads(load.waits_for)["run"] == child.id
    log = (await store.insights.log(run.id)).items
    assert [part.text for part in log if part.step == "side" and part.stream == "stdout"] == ["once\n"]
    await app.close()


@patiently
async def test_a_step_that_is_tried_again_begins_a_new_child() -> None:
    """S74: each try of the step has a child of its own, and so has a retry of the run from that step."""
    bad = {**LOAD, "params": {"shop": "bad"}, "retry": {"limit": 1, "interval": "1s", "jitter": 0}}
    app = await app_with({"load-shop": CHILD, "shops": parent(bad)})
    run = await app.enqueue("shops")
    await app.drain()
    assert [child.state for child in await children_of(app)] == ["failed", "failed"]
    await app.runs.retry(run.id)
    await app.drain()
    assert len(await children_of(app)) == 4
    assert (await app.runs.get(run.id)).state == "failed"
    await app.close()


@patiently
async def test_a_retry_from_a_step_repeats_its_child() -> None:
    """S74: what succeeded is reused, and the child of the step that is named is begun anew."""
    last = {"name": "last", "depends": "load", "command": "false"}
    app = await app_with({"load-shop": CHILD, "shops": parent(LOAD, last)})
    run = await app.enqueue("shops")
    await app.drain()
    assert len(await children_of(app)) == 1
    await app.runs.retry(run.id)
    await app.drain()
    assert len(await children_of(app)) == 1
    await app.runs.retry(run.id, from_step="load")
    await app.drain()
    assert [child.state for child in await children_of(app)] == ["succeeded", "succeeded"]
    await app.close()


@patiently
async def test_children_of_items() -> None:
    """S73, S74: each item has a child; those that find no free lane of their job wait for one."""
    each = {**LOAD, "foreach": ["eu", "us", "bad"], "params": {"shop": "${item}"}, "max_parallel": 2}
    app = await app_with({"load-shop": CHILD, "shops": parent(each)})
    run = await app.enqueue("shops")
    for _ in range(4):
        await app.drain()
    states = [(child.params or {}, child.state) for child in await children_of(app)]
    assert states == [({"shop": "eu"}, "succeeded"), ({"shop": "us"}, "succeeded"), ({"shop": "bad"}, "failed")]
    row = await app.runs.get(run.id)
    assert (row.state, row.attempt) == ("failed", 1)
    await app.close()


@patiently
async def test_a_job_that_is_not_there() -> None:
    """S74: the step fails, and names the job that was probably meant; so does one that takes no such param."""
    wrong = {"name": "a", "job": "load-shops"}
    other = {"name": "b", "job": "load-shop", "params": {"shpo": "eu"}}
    app = await app_with({"load-shop": CHILD, "shops": parent(wrong, other)})
    run = await app.enqueue("shops")
    await app.drain()
    error = (await app.runs.get(run.id)).error
    assert "step a: no run of load-shops: there is no job 'load-shops' (did you mean load-shop?)" in error
    assert "step b: no run of load-shop: " in error
    assert await children_of(app) == []
    await app.close()


@patiently
async def test_jobs_that_call_each_other() -> None:
    """S74: a job that is above a run is no step of it, else both would wait for each other."""
    app = await app_with({"a": parent({"name": "s", "job": "b"}), "b": parent({"name": "t", "job": "a"})})
    run = await app.enqueue("a")
    await app.drain()
    assert "no run of a: a run of a is above this one" in (await app.runs.get(run.id)).error
    await app.close()


@patiently
async def test_children_of_children() -> None:
    """S74: so deep and no deeper."""
    jobs = {f"j{n}": parent({"name": "s", "job": f"j{n + 1}"}) for n in range(11)}
    app = await app_with({**jobs, "j11": {"command": "true"}})
    run = await app.enqueue("j0")
    await app.drain()
    assert (await app.runs.get(run.id)).state == "failed"
    (deepest,) = await children_of(app, "j9")
    assert deepest.error.startswith("no run of j10: 10 runs are above each other")
    assert await children_of(app, "j10") == []
    await app.close()


@patiently
async def test_a_cancel_goes_down(tmp_path: Path) -> None:
    """S74: the children of a run that a person cancels end, whether it waits or executes another step."""
    child: dict[str, Any] = {"script": f"touch {tmp_path}/$TICKWISE_RUN_ID; sleep 600"}
    busy = parent({"name": "load", "job": "slow"}, {"name": "work", "script": "sleep 600"})
    async with AsyncTickwise("memory://", allow_commands=True, poll=0.05) as app:
        await app.schedules.add("slow", schedule="@yearly", overlap="allow", max_active_runs=4, **child)
        await app.schedules.add("waits", schedule="@yearly", **parent({"name": "load", "job": "slow"}))
        await app.schedules.add("busy", schedule="@yearly", **busy)
        runs = [(await app.enqueue(name)).id for name in ("waits", "busy")]
        await app.start()
        while len(os.listdir(tmp_path)) < 2:  # noqa: ASYNC110, PTH208  (a program tells)
            await asyncio.sleep(0.01)
        for run in runs:
            await app.runs.cancel(run)
        while not all(child.state is RunState.CANCELLED for child in await children_of(app, "slow")):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
