"""One history from one seed: trouble, calm, judgement; and how it is told."""

import asyncio
import gc
import hashlib
from dataclasses import dataclass
from random import Random

from tickwise.core.audit import AuditFinding

from . import jobs
from .engine_trouble import make_engine_trouble
from .events import drawn_for_events, make_event_trouble
from .judge import judge
from .loop import SimulatedLoop
from .rules import drawn_for_rules, make_rule_trouble
from .trouble import make_trouble
from .world import NODES, World, made_up_time

TROUBLE, CALM = 360.0, 240.0  # seconds
COMMAND = "python -m tests.simulation {seed}"


@dataclass(frozen=True, slots=True)
class History:
    """What became of a seed."""

    seed: int
    findings: tuple[AuditFinding, ...]
    timeline: tuple[str, ...]
    steps: int
    runs: int

    @property
    def trace(self) -> str:
        """The same for the same history."""
        return hashlib.sha256("\n".join(self.timeline).encode()).hexdigest()

    def told(self) -> str:
        """One line to replay it, what is wrong, and all that happened."""
        wrong = [f"{one.kind}: {one.schedule} {one.text}" for one in self.findings]
        return "\n".join([f"replay: {COMMAND.format(seed=self.seed)}", *wrong, "", *self.timeline])


def simulate(seed: int) -> History:
    """Live through a seed."""
    loop = SimulatedLoop(Random(f"{seed} turns"))
    gc.disable()  # a world keeps all that it makes, to its end
    with made_up_time(loop):
        world = World(seed, loop, Random(f"{seed} trouble"))
        try:
            findings = loop.run_until_complete(_live(world))
        finally:
            loop.bury()
            gc.enable()
    runs = len(world.store._memory.runs)
    return History(seed, tuple(findings), tuple(world.truth.timeline), loop.steps, runs)


async def _live(world: World) -> list[AuditFinding]:
    handed = jobs.drawn_for_engines(Random(f"{world.seed} engines"))
    own = drawn_for_rules(world.seed) | drawn_for_events(world.seed)
    world.editions = jobs.drawn(world.chance) | handed | own
    world.build_engines(each for both in handed.values() for each in both)
    for first, _ in world.editions.values():
        await world.define(first)
    for name in NODES:
        world.start(name)
    troubles = make_trouble, make_engine_trouble, make_rule_trouble, make_event_trouble
    await asyncio.gather(*(make(world, TROUBLE) for make in troubles))
    world.calm, world.calm_at = True, world.now()
    world.loop.thaw()
    world.truth.tell("world", "calms down")
    await asyncio.sleep(CALM)
    return await judge(world)
