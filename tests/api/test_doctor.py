"""`/doctor`: what is wrong, for operators."""

from tickwise.stores.access_records import AccessRole
from tickwise.testing.conformance.world import job

from ..support.api import api, problem_of
from ..support.app import patiently


@patiently
async def test_findings() -> None:
    """Each with its code, how grave it is, and the command that mends it."""
    async with api() as here:
        world = await here.world()
        await world.define(job("a", queue="mail"))
        await world.enqueue("a")
        findings = (await here.get("/doctor"))["findings"]
        unserved = [finding for finding in findings if finding["code"] == "queue_unserved"]
        assert unserved == [
            {
                "code": "queue_unserved", "severity": "error", "repair": "tickwise worker --queues mail",
                "what": "no live worker serves the queue mail, where runs wait: 1",
            }
        ]  # fmt: skip


@patiently
async def test_not_for_viewers() -> None:
    """It names files and machines."""
    async with api() as here:
        problem_of(await here.ask("GET", "/doctor", token=await here.token(AccessRole.VIEWER)), 403)
