"""Why a run on an engine has not ended: where the work is, and what the silence means (S55, S56)."""

from tickwise.app.explain import why_run
from tickwise.app.values import RunInfo
from tickwise.app.worker_advice import start_command
from tickwise.core.handover import (
    Accepted,
    Began,
    HandOverChange,
    Sight,
    Sighting,
    Silent,
    ToldToEnd,
    Unheard,
    judged,
)
from tickwise.core.states import RunState
from tickwise.stores.records import Finish, Lease
from tickwise.testing.conformance.handover import hand_over
from tickwise.testing.conformance.world import World

from ..support.app import new_world, patiently


async def engine_steps(world: World, run: str) -> list[tuple[str, str]]:
    explanation = await why_run(world.store, await world.run(run))
    return [(step.text, step.mark) for step in explanation.chain if step.what == "engine"]


@patiently
async def test_where_the_work_is() -> None:
    """Each state of a hand-over is one sentence, with the engine's own id and address."""
    world = await new_world()
    lease = await hand_over(world)

    async def after(*changes: HandOverChange) -> list[tuple[str, str]]:
        for change in changes:
            assert await world.store.hand_over(lease.id, lease.token, change)
        return await engine_steps(world, lease.id)

    asked = "The engine gpu is asked to run 1.1, and has not said yet that it has it."
    assert await after() == [(asked, "wait")]
    assert await after(Accepted("http://gpu/1")) == [
        ("The engine gpu has 1.1 since 2026-01-01T00:00:00Z, and the work has not begun (http://gpu/1).", "wait")
    ]
    alive = "its last sign of life was at 2026-01-01T00:00:00Z"
    assert await after(Began("ticket", "claim")) == [
        (f"The work runs on gpu as 1.1 (http://gpu/1); {alive}.", "yes")
    ]
    waited = "It is waited for up to 10m, then the run is lost."
    assert (await after(Silent("connection refused")))[1:] == [
        (f"The engine gpu does not answer since 2026-01-01T00:00:00Z: connection refused. {waited}", "wait")
    ]
    assert (await after(ToldToEnd()))[0] == (
        f"1.1 was told to end on gpu, and may still run there (http://gpu/1); {alive}.",
        "wait",
    )


@patiently
async def test_each_silence_of_an_engine_is_a_reason_of_its_own() -> None:
    """S55: it does not answer, it never heard of the reference, it forgot work that had begun."""

    async def last(world: World, lease: Lease, *changes: HandOverChange) -> str:
        for change in changes:
            assert await world.store.hand_over(lease.id, lease.token, change)
        explanation = await why_run(world.store, await world.run(lease.id))
        return next(step.text for step in reversed(explanation.chain) if step.what in ("engine", "error"))

    world = await new_world()
    lease = await hand_over(world)
    silent = await last(world, lease, Silent("connection refused"))
    assert silent.startswith("The engine gpu does not answer since 2026-01-01T00:00:00Z: connection refused.")
    assert await last(world, lease, Unheard()) == (
        "The engine gpu said at 2026-01-01T00:00:00Z that it never heard of 1.1, so it is sent again."
    )
    assert "has not begun" in await last(world, lease, Accepted())
    await last(world, lease, Began("ticket", "claim"))
    stored = (await world.run(lease.id)).hand_over
    assert stored
    forgot = judged(stored._replace(gated=False), Sighting(Sight.UNKNOWN), 0)
    assert forgot.outcome
    await world.store.finish([Finish(lease.id, lease.token, forgot.outcome, error=forgot.error)])
    assert await last(world, lease) == "gpu has forgotten 1.1, which had begun"
    assert (await world.run(lease.id)).state is RunState.LOST


@patiently
async def test_secrets_of_the_work_are_not_shown() -> None:
    """People see engine, reference, state and address, neither the ticket nor the claim."""
    world = await new_world()
    lease = await hand_over(world)
    await world.store.hand_over(lease.id, lease.token, Began("ticket", "claim"))
    info = RunInfo.of(await world.run(lease.id))
    assert info.hand_over is not None
    assert (info.hand_over.engine, info.hand_over.reference, info.hand_over.state) == ("gpu", "1.1", "begun")
    assert not hasattr(info.hand_over, "ticket")
    assert not hasattr(info.hand_over, "claim")


def test_which_worker_to_start() -> None:
    """One whose settings name the engine."""
    assert start_command("q", "engine:gpu") == "tickwise worker --queues q (with [engines.gpu] in its settings)"
    commands = start_command("q", "engine:gpu handed:9f", "folder:/jobs")
    assert commands == "tickwise worker /jobs --queues q (with [engines.gpu] in its settings)"
