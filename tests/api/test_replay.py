"""The past, planned again: what would have let a slot run, and replays with other fields."""

from typing import Any

import pytest

from tickwise.stores.records import Lease

from ..support.api import Api, api, problem_of
from ..support.app import at, patiently


async def past(here: Api, **options: Any) -> None:
    """Every ten minutes from 01:00 to 02:00, and the run of 01:00 takes 25 minutes."""

    async def work() -> None: ...

    here.tickwise.job("*/10 1 * * *", name="etl", **options)(work)
    await here.tickwise.jobs.list()
    world = await here.world()
    active: list[tuple[int, Lease]] = []
    for minute in range(60, 125):
        here.clock.set(at(f"{minute // 60:02}:{minute % 60:02}:00"))
        for lease in [lease for until, lease in active if until <= minute]:
            await world.end(lease)
        active = [one for one in active if one[0] > minute]
        await world.tick()
        active += [(minute + (25 if minute == 60 else 1), lease) for lease in await world.lease(seconds=3_600)]


@patiently
async def test_the_smallest_change_that_would_have_let_a_slot_run(url: str) -> None:
    """A slot that found its job active would have run with other words; each answer says when, and what else."""
    async with api(url) as here:
        await past(here)
        told = await here.get("/schedules/etl/what-if?slot=2026-01-01T01:10:00Z")
        assert (told["status"], told["text"]) == ("found", "any of these would have let it run")
        assert [one["fields"] for one in told["remedies"]] == [
            {"catchup": "all"}, {"overlap": "allow"}, {"overlap": "replace"},
        ]  # fmt: skip
        assert told["remedies"][0]["run_at"] == "2026-01-01T01:25:00Z"
        assert told["remedies"][0]["text"] == (
            "catchup: all: it would have run at Thu 2026-01-01 01:25:00 UTC, and one other slot as well"
        )


@pytest.mark.parametrize(
    ("slot", "status", "says"),
    [
        ("01:00:00", "ran", "it has a run: "),
        ("01:05:00", "no_slot", "it is no slot of the schedule, and no rule makes it one"),
        ("23:00:00", "future", "it is not due yet"),
        ("00:00:00", "not_stored", "the schedule was added later, 2026-01-01T00:00:00Z"),
    ],
)
@patiently
async def test_slots_that_need_no_change_or_cannot_be_told(slot: str, status: str, says: str) -> None:
    """One with a run, one that is none, one to come, and one from before the schedule was there."""
    async with api() as here:
        await past(here)
        told = await here.get(f"/schedules/etl/what-if?slot=2026-01-01T{slot}Z")
        assert (told["status"], told["text"][: len(says)], told["remedies"]) == (status, says, [])


@patiently
async def test_a_replay_beside_what_happened(url: str) -> None:
    """Slot by slot and in sum: with `queue` nothing is skipped, and the slots wait for the long run."""
    async with api(url) as here:
        await past(here)
        span = {"start": "2026-01-01T01:00:00Z", "end": "2026-01-01T02:00:00Z"}
        told = await here.post("/schedules/etl/replay", {**span, "changes": {"overlap": "queue"}})
        assert {side: (told[side]["ran"], told[side]["skipped"]) for side in ("was", "would")} == {
            "was": (4, 2), "would": (6, 0),
        }  # fmt: skip
        assert told["was"]["reasons"] == {"overlap": 2}
        assert (told["gained"], told["lost"], told["would"]["longest_wait"]) == (2, 0, 900)
        second = told["slots"][1]
        assert second["was"]["reason"] == "overlap"
        assert (second["would"]["began"], second["would"]["late"], second["estimated"]) == (
            "2026-01-01T01:25:00Z", 900, True,
        )  # fmt: skip
        assert told["notes"] == ["2 slots had no run then: theirs lasts as long as the median of the others."]
        same = await here.post("/schedules/etl/replay", span)
        assert (same["was"], same["notes"]) == (same["would"], [])


@patiently
async def test_a_replay_that_cannot_be_made_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The problem names the field: times in the wrong order or to come, and fields that say nothing about when."""
    async with api() as here:
        await past(here)
        span = {"start": "2026-01-01T01:00:00Z", "end": "2026-01-01T02:00:00Z"}
        for body, says in (
            ({**span, "start": span["end"]}, "to: a past goes from one time to a later one"),
            ({**span, "end": "2026-01-01T09:00:00Z"}, "up to now"),
            ({**span, "start": "2024-01-01T01:00:00Z"}, "at most a year"),
            ({**span, "changes": {"command": "ls"}}, "command: it does not say when the job runs"),
            ({**span, "changes": {"ovrlap": "queue"}}, "did you mean overlap?"),
            ({**span, "changes": {"overlap": "queu"}}, "did you mean queue?"),
            ({**span, "changes": {"name": "other"}}, "name: "),
        ):
            refused = problem_of(await here.ask("POST", "/schedules/etl/replay", json=body), 422)
            assert says in refused["detail"], refused
        monkeypatch.setattr("tickwise.app.past.MAX_SLOTS", 3)
        refused = problem_of(await here.ask("POST", "/schedules/etl/replay", json=span), 422)
        assert "6 slots are more than 3" in refused["detail"]


@patiently
async def test_one_at_a_time() -> None:
    """While one request computes, a second is told to come again."""
    async with api() as here:
        await past(here)
        async with here.app.state.simulation:
            problem_of(await here.ask("GET", "/schedules/etl/what-if"), 429)
            body = {"start": "2026-01-01T01:00:00Z"}
            problem_of(await here.ask("POST", "/schedules/etl/replay", json=body), 429)
