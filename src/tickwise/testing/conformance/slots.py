"""Slots for people: what every store tells of them, and that it adds up to what was decided."""
# ruff: noqa: S101  (a suite of tests asserts)

import random
from collections import Counter
from typing import Any

from ...core.backfill import BackfillAsked
from ...core.change import Paused, Resumed
from ...core.model import Decision
from ...core.reasons import Reason
from ...core.settle import Failed, Outcome, Succeeded, Unmet
from ...core.slot_history import Bins, RunCount, SlotLedger, SlotState
from ...core.states import RunState
from ...stores.pages import all_pages
from ...stores.records import MICRO, DecisionFilter
from ...stores.statistics import RecentSlots, SlotCounts
from .stories import Stories
from .world import World, instant, job, short_time

S = RunState
REASONS = frozenset({Reason.OVERLAP, Reason.MISSED})
HOUR_OF_TENS = Bins(instant("00:00"), 600, 6)


class SlotStories(Stories):
    async def test_the_newest_slots_of_schedules(self, world: World) -> None:
        """Of each the runs and the final decisions of its newest slots, in order; what has none is left out."""
        await world.define(job("a", "*/2 * * * *"), job("b", "0 5 * * *"))
        await world.pass_time("00:02")
        await world.end(await world.start(), Failed(), error="boom\nat line 1")
        await world.pass_time("00:04")
        lease = await world.start()
        await world.pass_time("00:08")
        await world.end(lease)
        found = await world.insights.recent(["a", "b", "none", "\0"])
        assert [*found] == ["a"]
        assert [(short_time(run.slot), run.state, run.attempt, run.error) for run in found["a"].runs] == [
            ("00:02", S.FAILED, 1, "boom\nat line 1"), ("00:04", S.SUCCEEDED, 1, ""),
        ]  # fmt: skip
        assert found["a"].runs[0].due_at == found["a"].runs[0].started_at == instant("00:02") * MICRO
        assert found["a"].runs[1].finished_at == instant("00:08") * MICRO
        assert [(row.reason, short_time(row.first), row.count) for row in found["a"].decisions] == [
            (Reason.OVERLAP, "00:06", 2)
        ]  # fmt: skip
        newest = await world.insights.recent(["a"], 1)
        assert newest["a"] == RecentSlots(found["a"].runs[1:], found["a"].decisions)
        before = await world.insights.recent(["a"], 5, instant("00:04"))
        assert before["a"] == RecentSlots(found["a"].runs[:1], ())

    async def test_slots_in_bins(self, world: World) -> None:
        """Runs by bin, state and whether they needed another attempt; decisions that touch the bins."""
        await world.define(job("a", "*/5 * * * *"), job("b", "*/5 * * * *"))
        await world.pass_time("00:05")
        first, second = await world.lease()
        await world.pass_time("00:10")
        await world.end(first, Failed())
        await world.end(second)
        await world.store.retry(first.id)
        await world.work()
        await world.pass_time("00:15")
        found = await world.insights.slot_counts(["a", "b", "none", "\0"], HOUR_OF_TENS)
        assert {name: counts.runs for name, counts in found.items()} == {
            first.job.name: (RunCount(0, S.SUCCEEDED, True, 1), RunCount(1, S.QUEUED, False, 1)),
            second.job.name: (RunCount(0, S.SUCCEEDED, False, 1), RunCount(1, S.QUEUED, False, 1)),
        }
        assert [(row.reason, short_time(row.first)) for row in found["a"].decisions] == [(Reason.OVERLAP, "00:10")]
        later = await world.insights.slot_counts(["a"], Bins(instant("00:15"), 60, 1))
        assert later == {"a": SlotCounts((RunCount(0, S.QUEUED, False, 1),))}
        assert await world.insights.slot_counts(["a"], Bins(instant("00:20"), 60, 1)) == {}

    async def test_a_slot_that_was_decided_and_then_backfilled(self, world: World) -> None:
        """Its run is named, so that it is not counted twice (S32)."""
        await world.define(job("a", "*/5 * * * *", catchup="skip"))
        world.go("00:14")
        await world.tick()
        await world.store.change("a", BackfillAsked(instant("00:01"), instant("00:11")))
        await world.tick()
        found = (await world.insights.slot_counts(["a"], HOUR_OF_TENS))["a"]
        assert [short_time(slot) for slot in found.again] == ["00:05"]
        assert sum(row.count for row in found.decisions) == 2

    async def test_which_schedules_ail(self, world: World) -> None:
        """Those whose newest run was not done, or whose slots were skipped lately; not those that are gone."""
        await world.define(*(job(name, "*/5 * * * *") for name in ("failed", "unmet", "well", "skipped", "gone")))
        await world.pass_time("00:05")
        ends: dict[str, Outcome] = {"failed": Failed(), "unmet": Unmet(), "gone": Failed()}
        for lease in await world.lease():
            if lease.job.name != "skipped":
                await world.end(lease, ends.get(lease.job.name, Succeeded()))
        await world.pass_time("00:06")
        assert await world.insights.ailing(0, REASONS) == ("failed", "gone", "unmet")
        await world.pass_time("00:10")
        await world.store.remove("gone", "app")
        assert "skipped" in await world.insights.ailing(0, REASONS)
        assert "skipped" not in await world.insights.ailing(instant("00:11"), REASONS)
        assert "skipped" not in await world.insights.ailing(0, frozenset({Reason.MISSED}))
        assert "gone" not in await world.insights.ailing(0, REASONS)

    async def test_slots_add_up_to_what_was_decided(self, world: World) -> None:
        """Each decided slot is told once, by its run or its decision, in a list and in bins alike (S7)."""
        chance = random.Random(24)  # noqa: S311  (a story, not a secret)
        every: dict[str, dict[str, Any]] = {
            "plain": {}, "all": {"catchup": "all"}, "skip": {"catchup": "skip"}, "two": {"overlap": "allow"},
            "last": {"overlap": "latest"},
        }  # fmt: skip
        await world.define(*(job(name, "*/5 * * * *", **policy) for name, policy in every.items()))
        ends: list[Outcome] = [Succeeded(), Failed(), Unmet()]
        name = "plain"
        for hour in range(1, 9):
            await world.pass_time(f"{hour:02}:{chance.randrange(60):02}")
            for lease in await world.lease():
                if chance.random() < 0.7:
                    await world.end(lease, chance.choice(ends))
            if hour % 2:
                name = chance.choice([*every])
                await world.store.change(name, Paused("x", "y"))
            else:
                await world.store.change(name, Resumed())
            if hour == 5:
                world.go("06:30")
                await world.store.change("skip", BackfillAsked(instant("01:00"), instant("03:00")))
        for name in every:
            await self._adds_up(world, name)

    async def _adds_up(self, world: World, name: str) -> None:
        row, runs = await world.row(name), {run.slot: run for run in await world.runs(schedule=name)}
        told = await all_pages(lambda after: world.insights.decisions(DecisionFilter(schedule=name), after))
        final = [each for each in told if each.is_final]
        recorded = [
            slot for each in final for slot in range(each.first, each.last + 1, 300) if slot not in runs
        ]  # fmt: skip
        assert len(recorded) == len({*recorded}), "the oracle knows of no slot that was decided twice"
        expected = Counter({SlotState.SKIPPED: len(recorded)}) + Counter(
            _STATES[run.state] if run.attempt < 2 or run.state is not S.SUCCEEDED else SlotState.RAN_AFTER_RETRIES
            for run in runs.values()
        )  # fmt: skip
        bins = Bins(instant("00:00"), 1_000, 40)
        counts = (await world.insights.slot_counts([name], bins))[name]
        decisions = [Decision(name, each.reason, each.first, each.last, each.count) for each in counts.decisions]
        ledger = SlotLedger(row.schedule, decisions, world.now, paused=row.schedule.paused is not None)
        drawn = ledger.binned(bins, counts.runs, counts.again)
        pending = (
            {SlotState.TO_COME} if row.schedule.cursor >= world.now else {SlotState.TO_COME, SlotState.WAITING}
        )
        in_bins = Counter[SlotState]()
        for each in drawn.values():
            for (state, reason), number in each.items():
                if state not in pending or reason == "queued":
                    in_bins[state] += number
        assert in_bins == expected
        recent = (await world.insights.recent([name], 1_000))[name]
        listed = ledger.newest(recent.runs, bins.since, world.now + 1, 1_000)
        settled = [record for record in listed if record.state not in pending or record.run]
        assert Counter(record.state for record in settled) == expected
        assert len({record.slot for record in listed}) == len(listed)


_STATES = {
    S.QUEUED: SlotState.WAITING, S.RUNNING: SlotState.RUNNING, S.SUCCEEDED: SlotState.RAN,
    S.FAILED: SlotState.FAILED, S.LOST: SlotState.FAILED, S.SKIPPED: SlotState.SKIPPED,
    S.CANCELLED: SlotState.SKIPPED, S.EXPIRED: SlotState.SKIPPED,
}  # fmt: skip
