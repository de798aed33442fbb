"""Steps with a queue or an engine of their own, through workers and stores (S74)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tickwise import AsyncTickwise
from tickwise.core.definition import EngineUse, PythonCall, Step
from tickwise.core.requirements import Offers, command_digest
from tickwise.core.states import RunState
from tickwise.core.step_jobs import step_jobs
from tickwise.stores.records import LeaseRequest, RunFilter, RunRow
from tickwise.testing.conformance.world import job

from ..support.app import Clock, leap, patiently

REPORT = """
schedule: "0 4 * * *"
params: {shop: eu}
env: {MODE: full}
steps:
  - name: list
    script: echo total=3 >> $TICKWISE_OUTPUT
  - name: train
    depends: list
    queue: gpu
    command: [printf, '{"%s": %s}', "${params.shop}", "${steps.list.outputs.total}"]
  - name: tell
    depends: train
    command: [echo, "${steps.train.outputs.us}"]
"""


async def app_with(*steps: dict[str, Any], **fields: Any) -> AsyncTickwise:
    app = AsyncTickwise("memory://", allow_commands=True)
    await app.schedules.add("report", schedule="@yearly", steps=list(steps), **fields)
    return app


async def runs_of(app: AsyncTickwise, name: str) -> list[RunRow]:
    """Oldest first."""
    found = await (await app.store()).insights.runs(RunFilter(job=name))
    return list(found.items[::-1])


async def until_over(app: AsyncTickwise, run: str) -> RunRow:
    store = await app.store()
    while True:
        row = await store.insights.run(run)
        assert row is not None
        if row.state not in (RunState.QUEUED, RunState.RUNNING):
            return row
        await asyncio.sleep(0.01)


async def log_of(app: AsyncTickwise, run: str, step: str) -> list[str]:
    log = (await (await app.store()).insights.log(run)).items
    return [part.text for part in log if part.step == step]


@patiently
async def test_two_workers_with_different_queues(tmp_path: Path) -> None:
    """S74: the worker of the step's queue executes it and hands on; the other one goes on with the rest."""
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "report.yaml").write_text(REPORT)
    url = f"sqlite:///{tmp_path}/t.db"
    async with (
        AsyncTickwise(url, poll=0.05) as day,
        AsyncTickwise(url, poll=0.05, queues=["gpu"]) as night,
    ):
        await day.start(folder)
        await night.start(folder)
        run = await day.enqueue("report", params={"shop": "us"})
        row = await until_over(day, run.id)
        (child,) = await runs_of(day, "report.train")
        assert (row.state, row.error, row.attempt) == ("succeeded", "", 1)
        assert (child.state, child.queue, child.trigger) == ("succeeded", "gpu", "step")
        assert child.node != row.node
        assert await log_of(day, run.id, "tell") == ["3\n"]
        assert (await day.runs.get(child.id)).params == {"shop": "us"}


@patiently
async def test_items_side_by_side() -> None:
    """S73, S74: each item is a run of its own, beside the others, and takes no lane of any job."""
    step = {
        "name": "load", "queue": "gpu", "foreach": ["eu", "us"], "env": {"SHOP": "${item}"},
        "script": 'echo "{\\"shop\\": \\"$SHOP\\"}"',
    }  # fmt: skip
    last = {"name": "last", "depends": "load", "command": ["echo", "${steps.load.outputs.shop}"]}
    app = await app_with(step, last)
    run = await app.enqueue("report")
    await app.drain()
    children = await runs_of(app, "report.load")
    assert sorted(child.params["@step"]["item"] for child in children if child.params) == ["eu", "us"]
    assert await log_of(app, run.id, "last") == ['["eu", "us"]\n']
    assert children[1].created_at < (children[0].finished_at or 0)
    await app.close()


@patiently
async def test_how_it_ends() -> None:
    """S74: its failure is the step's, with a run for each try; a precondition that is not met skips the step."""
    bad = {"name": "bad", "queue": "gpu", "command": "false", "retry": {"limit": 1, "interval": "1s", "jitter": 0}}
    unmet = {"name": "unmet", "queue": "gpu", "command": "false", "preconditions": [{"command": "false"}]}
    slow = {"name": "slow", "queue": "gpu", "command": "sleep 60", "timeout": "1s"}
    app = await app_with(bad, unmet, slow)
    run = await app.enqueue("report")
    await app.drain()
    assert [child.state for child in await runs_of(app, "report.bad")] == ["failed", "failed"]
    steps = {step.name: step for step in await (await app.store()).insights.steps(run.id)}
    assert {name: step.state for name, step in steps.items()} == {
        "bad": "failed", "unmet": "skipped", "slow": "failed"
    }  # fmt: skip
    assert steps["bad"].error.endswith("of report.bad is failed: exit code 1")
    assert steps["slow"].error.endswith("of report.slow is failed: the run timed out after 1s")
    await app.close()


@patiently
async def test_a_name_that_is_taken() -> None:
    """S50: a job of somebody else with the name that the step needs is left alone, and the step says so."""
    app = await app_with({"name": "train", "queue": "gpu", "command": "true"})
    await app.schedules.add("report.train", schedule="@yearly", command="false")
    run = await app.enqueue("report")
    await app.drain()
    assert (await app.runs.get(run.id)).error.startswith("no run of report.train: ")
    assert await runs_of(app, "report.train") == []
    await app.close()


@patiently
async def test_what_it_knows_of_the_run() -> None:
    """S74: references to the slot mean that of the run that waits."""
    app = AsyncTickwise("memory://", allow_commands=True, clock=(clock := Clock()))
    step = {"name": "train", "queue": "gpu", "command": ["echo", "${run.slot}"]}
    await app.schedules.add("report", schedule="0 * * * *", steps=[step])
    await app.drain()
    await leap(await app.store(), clock, "01:00")
    await app.drain()
    (child,) = await runs_of(app, "report.train")
    assert await log_of(app, child.id, "train") == ["2026-01-01T01:00:00Z\n"]
    await app.close()


@patiently
async def test_the_worker_of_the_rest_goes_away(tmp_path: Path) -> None:
    """S74: the step goes on without the worker that began it, and another one goes on with the run behind it."""
    step = {"name": "train", "queue": "gpu", "script": f"until test -e {tmp_path}/go; do sleep 0.01; done"}
    url = f"sqlite:///{tmp_path}/t.db"
    async with AsyncTickwise(url, poll=0.05, allow_commands=True, queues=["gpu"]) as night:
        await night.start()
        async with AsyncTickwise(url, poll=0.05, allow_commands=True) as day:
            await day.schedules.add("report", schedule="@yearly", steps=[step])
            run = await day.enqueue("report")
            await day.start()
            while [child.state for child in await runs_of(day, "report.train")] != ["running"]:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        (tmp_path / "go").touch()
        async with AsyncTickwise(url, poll=0.05, allow_commands=True) as day:
            await day.start()
            assert (await until_over(day, run.id)).attempt == 1
            assert [child.state for child in await runs_of(day, "report.train")] == ["succeeded"]


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@patiently
async def test_it_goes_with_its_job(store: str, tmp_path: Path) -> None:
    """S50: what a step has become is removed with the job, and what others have called so stays."""
    url = f"sqlite:///{tmp_path}/t.db" if store == "sqlite" else "memory://"
    app = AsyncTickwise(url, allow_commands=True)
    train = {"name": "train", "queue": "gpu", "command": "true"}
    for name in ("report", "report.other"):
        await app.schedules.add(name, schedule="@yearly", steps=[train])
        await app.enqueue(name)
    await app.drain()
    insights = (await app.store()).insights
    assert await insights.job("report.train")
    await app.schedules.remove("report")
    assert [row.definition.name for row in (await insights.jobs()).items] == [
        "report.other", "report.other.train"
    ]  # fmt: skip
    await app.close()


@patiently
async def test_a_step_on_an_engine() -> None:
    """S74, S52: such a step is a run that requires the engine, and the words of its job."""
    app = AsyncTickwise("memory://", allow_commands=True)
    store = await app.store()
    whole = job("report", steps=(Step("train", PythonCall("a:b"), engine=EngineUse("gpu", {"cpus": 2})),))
    await store.define(whole, "app")
    await app.enqueue("report")
    await app.drain()
    (child,) = await runs_of(app, "report.train")
    (alone,) = step_jobs(whole)
    assert (child.state, child.requires) == ("queued", f"engine:gpu handed:{command_digest(alone)}")
    offers = Offers.of_watcher(["gpu"], [command_digest(alone)])
    (lease,) = await store.lease(LeaseRequest("watcher", 1, ("default",), offers, 30))
    assert lease.job.engine == EngineUse("gpu", {"cpus": 2})
    await app.close()
