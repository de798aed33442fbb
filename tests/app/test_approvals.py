"""Steps that wait for a person, through workers and stores (S75)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tickwise import AsyncTickwise
from tickwise.app.attention import status
from tickwise.app.drain import drain
from tickwise.core.errors import ConflictError, InputError
from tickwise.runtime.step_context import Services
from tickwise.stores.records import RunFilter

from ..support.app import Clock, patiently

ASK: dict[str, Any] = {"name": "ok", "approve": {"role": "operator", "timeout": "1h"}}
SHIP = {
    "name": "ship",
    "depends": "ok",
    "command": ["echo", "${steps.ok.outputs.by}", "${steps.ok.outputs.reason}"],
}


class Place:
    """An app on a moved clock, with a job whose run waits for a person."""

    def __init__(self, app: AsyncTickwise, clock: Clock) -> None:
        self.app = app
        self.clock = clock

    @classmethod
    async def open(cls, *steps: dict[str, Any], **job: Any) -> "Place":
        clock = Clock()
        place = cls(AsyncTickwise("memory://", clock=clock, allow_commands=True), clock)
        await place.app.schedules.add("release", schedule="@yearly", steps=list(steps) or [ASK, SHIP], **job)
        await place.app.enqueue("release")
        await place.app.drain()
        return place

    async def go(self, seconds: int) -> None:
        """What is due by then is done."""
        self.clock.advance(seconds)
        await self.app.drain()

    async def state(self) -> tuple[str, str, int]:
        row = await self.app.runs.get("1")
        return row.state, row.error, row.attempt

    async def steps(self) -> dict[str, str]:
        return {step.name: step.state for step in await (await self.app.store()).insights.steps("1")}

    async def audited(self) -> list[tuple[str, str, Any]]:
        page = await (await self.app.store()).access.audit("1")
        return [(row.who, row.action, row.after) for row in page.items]


@patiently
async def test_an_approval() -> None:
    """S75: the run waits without a worker, goes on at once when somebody approves, and hands on who did."""
    place = await Place.open()
    run = await place.app.runs.get("1")
    assert (run.state, run.waits_for) == ("queued", "step ok: an approval by an operator")
    assert run.waits == ("It waits for an approval by an operator (step ok): tickwise runs approve 1 ok.",)
    given = await place.app.runs.approve("1", "ok", by="ann", reason="looks good")
    assert (given.step, given.answer, given.by, given.reason) == ("ok", "approve", "ann", "looks good")
    await place.app.drain()
    assert await place.state() == ("succeeded", "", 1)
    assert "ann looks good\n" in await place.app.runs.logs("1")
    assert await place.audited() == [("ann", "run.approve", {"step": "ok", "reason": "looks good"})]


@patiently
async def test_a_rejection_is_final() -> None:
    """S75: the step fails with the words, and neither the retries of the run nor the steps behind it ask again."""
    place = await Place.open(retry={"limit": 3, "interval": "1s"})
    await place.app.runs.reject("1", by="bob", reason="not on a Friday")
    await place.app.drain()
    assert await place.state() == ("failed", "step ok: rejected by bob: not on a Friday", 1)
    assert (await place.steps())["ship"] == "skipped"
    await place.app.runs.retry("1")
    await place.app.drain()
    assert (await place.state())[0] == "queued"
    await place.app.runs.approve("1", by="ann")
    await place.app.drain()
    assert (await place.state())[0] == "succeeded"
    assert [action for _, action, _ in await place.audited()] == ["run.approve", "run.reject"]


@patiently
async def test_another_way_after_a_rejection() -> None:
    """S75: a rejection is a failure of the step, so `continue_on` lets other steps follow, and the run succeed."""
    other = {"name": "undo", "depends": "ok", "command": "true"}
    place = await Place.open({**ASK, "continue_on": ["failed"]}, other)
    await place.app.runs.reject("1", by="bob")
    await place.app.drain()
    assert await place.state() == ("succeeded", "", 1)
    assert [name for name, state in (await place.steps()).items() if state == "failed"] == ["ok"]


@pytest.mark.parametrize(
    ("on_timeout", "state", "error", "action"),
    [
        ("approve", "succeeded", "", "run.approve"),
        (None, "failed", "step ok: rejected: nobody answered within 1h", "run.reject"),
    ],
)
@patiently
async def test_nobody_answers(on_timeout: str | None, state: str, error: str, action: str) -> None:
    """S75: after the timeout `on_timeout` is the answer, reject by itself; later answers are refused."""
    ask = {"name": "ok", "approve": {"timeout": "1h", **({"on_timeout": on_timeout} if on_timeout else {})}}
    place = await Place.open(ask, {"name": "then", "depends": "ok", "command": "true"})
    await place.go(3_599)
    assert (await place.state())[0] == "queued"
    await place.go(60)
    assert await place.state() == (state, error, 1)
    ((who, done, after),) = await place.audited()
    assert (who, done, after["reason"]) == ("timeout", action, "nobody answered within 1h")
    with pytest.raises(ConflictError, match=r"the step ok of run 1 was .*: nobody answered within 1h, at 2026"):
        await place.app.runs.approve("1", "ok", by="ann")


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@patiently
async def test_two_answer_at_once(store: str, tmp_path: Path) -> None:
    """S75: exactly one counts, and the other is told which; the audit has the one that counts."""
    url = f"sqlite:///{tmp_path}/t.db" if store == "sqlite" else "memory://"
    async with AsyncTickwise(url, allow_commands=True) as app:
        await app.schedules.add("release", schedule="@yearly", steps=[ASK, SHIP])
        run = (await app.enqueue("release")).id
        await app.drain()
        answers = [app.runs.approve(run, "ok", by="ann"), app.runs.reject(run, "ok", by="bob", reason="no")]
        found = await asyncio.gather(
            *answers, *(app.runs.approve(run, by=f"p{n}") for n in range(6)), return_exceptions=True
        )
        (counted,) = [one for one in found if not isinstance(one, BaseException)]
        others = [str(one) for one in found if isinstance(one, ConflictError)]
        assert len(others) == 7
        assert all(counted.by in text or "waits for no approval" in text for text in others)
        assert any(f" by {counted.by}" in text for text in others)
        page = await (await app.store()).access.audit(run)
        assert [(row.who, row.action) for row in page.items] == [(counted.by, f"run.{counted.answer}")]
        await app.drain()
        assert (await app.runs.get(run)).state == ("succeeded" if counted.answer == "approve" else "failed")


@patiently
async def test_an_answer_outlives_workers() -> None:
    """S75: an answer that is given while no worker lives, or while one dies, is found by the next."""
    place = await Place.open()
    await place.app.runs.approve("1", by="ann")
    store = await place.app.store()
    await store.expire()
    await place.go(86_400 * 3)
    assert await place.state() == ("succeeded", "", 1)


@patiently
async def test_a_run_that_was_cancelled_asks_again() -> None:
    """S75: a run that is over takes no answer; put back it asks again, and gives people their time again."""
    place = await Place.open()
    await place.app.runs.cancel("1")
    with pytest.raises(ConflictError, match="run 1 is over: its step ok waits for nobody any longer"):
        await place.app.runs.approve("1", "ok", by="ann")
    place.clock.advance(7_200)
    await place.app.runs.retry("1")
    await place.app.drain()
    assert (await place.state())[0] == "queued"
    await place.app.runs.approve("1", by="ann")
    await place.app.drain()
    assert await place.state() == ("succeeded", "", 2)


@patiently
async def test_an_approval_is_reused() -> None:
    """S75: a retry of the run keeps what was approved, and a retry from that step asks again."""
    place = await Place.open(ASK, {"name": "last", "depends": "ok", "command": "false"})
    await place.app.runs.approve("1", by="ann")
    await place.app.drain()
    await place.app.runs.retry("1")
    await place.app.drain()
    assert (await place.state())[0] == "failed"
    await place.app.runs.retry("1", from_step="ok")
    await place.app.drain()
    assert (await place.state())[0] == "queued"
    await place.app.runs.approve("1", by="ann")
    with pytest.raises(ConflictError, match="run 1 waits for no approval"):
        await place.app.runs.approve("1", by="ann")


@patiently
async def test_an_approval_of_each_item() -> None:
    """S73, S75: each item is answered by itself; a step must be named where several wait."""
    each = {"name": "ok", "foreach": ["eu", "us"], "approve": "admin"}
    place = await Place.open(each)
    with pytest.raises(ConflictError, match=r"several approvals: say which, ok\[0\], ok\[1\]"):
        await place.app.runs.approve("1", by="ann")
    with pytest.raises(ConflictError, match=r"the step ok\[2\] of run 1 does not wait .*did you mean ok\["):
        await place.app.runs.approve("1", "ok[2]", by="ann")
    await place.app.runs.approve("1", "ok[1]", by="ann")
    await place.app.drain()
    assert (await place.state())[0] == "queued"
    await place.app.runs.approve("1", by="ann")
    await place.app.drain()
    assert (await place.state())[0] == "succeeded"


@patiently
async def test_other_branches_go_on_beside_an_approval(tmp_path: Path) -> None:
    """S75: what follows an approval begins when it is given, although another branch is still executed."""
    looks = asyncio.Event()

    async def sleep(_seconds: float) -> None:
        looks.set()
        await asyncio.sleep(0.01)

    long = {"name": "long", "script": f"while ! test -e {tmp_path}/flag; do sleep 0.05; done"}
    then = {"name": "then", "depends": "ok", "script": f"touch {tmp_path}/flag"}
    async with AsyncTickwise("memory://", allow_commands=True) as app:
        await app.schedules.add("release", schedule="@yearly", steps=[ASK, then, long])
        await app.enqueue("release")
        drained = asyncio.create_task(drain(await app.store(), {}, Services(sleep=sleep)))
        await looks.wait()
        await app.runs.approve("1", by="ann")
        await drained
        assert ((await app.runs.get("1")).state, (await app.runs.get("1")).attempt) == ("succeeded", 1)


@patiently
async def test_answers_that_cannot_be() -> None:
    """S75: a reason that is too long, and a step or a run that is not there, are refused, and change nothing."""
    place = await Place.open()
    with pytest.raises(InputError, match="a reason has at most 1,000 characters"):
        await place.app.runs.approve("1", by="ann", reason="x" * 1_001)
    with pytest.raises(ConflictError, match="the step ship of run 1 does not wait for an approval"):
        await place.app.runs.approve("1", "ship", by="ann")
    with pytest.raises(InputError, match="there is no run"):
        await place.app.runs.approve("77", by="ann")
    assert await place.audited() == []
    assert len((await (await place.app.store()).insights.runs(RunFilter(waits=True))).items) == 1


@patiently
async def test_it_needs_somebody() -> None:
    """S75: what waits for a person is on the list of what needs one, until it is answered."""
    place = await Place.open()
    store = await place.app.store()
    (item,) = [one for one in (await status(store)).items if one.kind == "approval"]
    assert (item.subject.kind, item.subject.name, item.subject.job) == (
        "step",
        "release, run 1, step ok",
        "release",
    )
    assert item.text == "waits for an approval by an operator, until 2026-01-01T01:00:00Z"
    assert [remedy.command for remedy in item.remedies if remedy.command] == ["tickwise runs approve 1 ok"]
    assert [
        one for one in (await status(store, lambda job: job != "release")).items if one.kind == "approval"
    ] == []
    await place.app.runs.approve("1", by="ann")
    assert [one for one in (await status(store)).items if one.kind == "approval"] == []


@patiently
async def test_the_record_of_an_answer() -> None:
    """S75: an answer is no step of the run: nothing that lists steps shows it."""
    place = await Place.open()
    await place.app.runs.approve("1", by="ann", reason="so be it")
    steps = await (await place.app.store()).insights.steps("1")
    (kept,) = [step for step in steps if step.name == "answer:1.1:ok"]
    assert (kept.state, json.loads(kept.outputs)) == ("approve", {"by": "ann", "reason": "so be it"})
