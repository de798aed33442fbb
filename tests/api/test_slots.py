"""Slots: of one schedule, in lists of schedules, and of many in bins."""

from typing import Any

import pytest

from tickwise.core.settle import Failed
from tickwise.stores.access_records import AccessRole

from ..support.api import NIGHTLY, Api, api, problem_of
from ..support.app import patiently

OFTEN = {**NIGHTLY, "schedule": "*/5 * * * *"}


async def _play(here: Api) -> None:
    """Slots at 5 and 20 with runs; at 10 and 15 the first is in the way; that of 25 waits, as all is paused."""
    await here.post("/schedules", {**OFTEN, "name": "busy"})
    await here.post("/schedules", {**OFTEN, "name": "calm", "labels": {"team": "a"}})
    world = await here.world()
    await world.pass_time("00:05")
    leases = {lease.job.name: lease for lease in await world.lease()}
    busy = leases.pop("busy")
    for lease in leases.values():
        await world.end(lease)
    await world.pass_time("00:12")
    await world.work()
    await world.pass_time("00:18")
    await world.work()
    await world.end(busy, Failed())
    await world.pass_time("00:21")
    await here.ask("PUT", "/pause", json={})
    world.go("00:26")


def _short(items: list[dict[str, Any]]) -> list[tuple[str, str, str | None]]:
    return [(item["slot"][11:16], item["state"], item["reason"]) for item in items]


@patiently
async def test_a_list_of_schedules_tells_what_became_of_their_slots(url: str) -> None:
    """The newest slots with their state and reason, not the runs alone."""
    async with api(url) as here:
        await _play(here)
        busy, calm = (await here.get("/schedules"))["items"]
        assert _short(busy["slots"]) == [
            ("00:05", "failed", "failed"), ("00:10", "skipped", "overlap"), ("00:15", "skipped", "overlap"),
            ("00:20", "waiting", "queued"), ("00:25", "waiting", "paused"),
        ]  # fmt: skip
        assert _short(calm["slots"])[:3] == [
            ("00:05", "ran", None),
            ("00:10", "ran", None),
            ("00:15", "ran", None),
        ]


@patiently
async def test_slots_of_one_schedule_page_by_page(url: str) -> None:
    """The newest first, each with its run or the reason why it has none; a page goes on where the last ended."""
    async with api(url) as here:
        await _play(here)
        path = "/schedules/busy/slots?limit=2&until=2026-01-01T00:31:00Z&since=2026-01-01T00:10:00Z"
        pages, after = [], ""
        while after is not None:
            page = await here.get(path + (f"&after={after}" if after else ""))
            pages.append(page["items"])
            after = page["next"]
        assert [_short(items) for items in pages] == [
            [("00:30", "to_come", "paused"), ("00:25", "waiting", "paused")],
            [("00:20", "waiting", "queued"), ("00:15", "skipped", "overlap")],
            [("00:10", "skipped", "overlap")],
        ]
        skipped = pages[1][1]
        assert skipped["text"].startswith("the job was still active: run ")
        assert (skipped["run"], skipped["count"]) == (None, 1)
        oldest = (await here.get("/schedules/busy/slots"))["items"][-1]
        assert (oldest["attempt"], oldest["started_at"], oldest["text"]) == (
            1, "2026-01-01T00:05:00Z", "its run failed",
        )  # fmt: skip


@patiently
async def test_ribbons_add_up_and_the_worst_comes_first(url: str) -> None:
    """Counts of each bin and state; what ails goes before what is well, whatever its name."""
    async with api(url) as here:
        await here.post("/schedules", {**OFTEN, "name": "a-first"})
        await _play(here)
        found = await here.get("/slots?since=2026-01-01T00:00:00Z&until=2026-01-01T01:00:00Z&bins=6")
        assert (found["step"], found["bins"]) == (600, 6)
        assert [item["name"] for item in found["items"]] == ["busy", "a-first", "calm"]
        busy = found["items"][0]
        assert busy["totals"] == {"failed": 1, "skipped": 2, "waiting": 2, "to_come": 6}
        assert (busy["good"], busy["reasons"]) == (0, {"overlap": 2})
        assert (found["items"][2]["labels"], busy["labels"], busy["in_shadow"]) == ({"team": "a"}, {}, False)
        assert busy["bins"][:2] == [[0, {"failed": 1}], [1, {"skipped": 2}]]
        assert found["totals"]["skipped"] == 2
        for item in found["items"]:
            assert sum(sum(counts.values()) for _, counts in item["bins"]) == sum(item["totals"].values()) == 11


@patiently
async def test_ribbons_page_by_page(url: str) -> None:
    """Each schedule once, in the order of the whole."""
    async with api(url) as here:
        for name in ("a", "b", "c", "d"):
            await here.post("/schedules", {**OFTEN, "name": name})
        await _play(here)
        names, after = [], ""
        while after is not None:
            page = await here.get("/slots", params={"limit": 2} | ({"after": after} if after else {}))
            names.append([item["name"] for item in page["items"]])
            after = page["next"]
        assert names == [["busy", "a"], ["b", "c"], ["calm", "d"]]
        only = await here.get("/slots?label=team=a")
        assert [item["name"] for item in only["items"]] == ["calm"]
        assert [item["name"] for item in (await here.get("/slots?text=usy"))["items"]] == ["busy"]


@patiently
async def test_scopes_hide_the_slots_of_other_jobs() -> None:
    """What is not seen does not exist."""
    async with api() as here:
        await _play(here)
        token = await here.token(AccessRole.VIEWER, "cal*")
        assert [item["name"] for item in (await here.get("/slots", token=token))["items"]] == ["calm"]
        problem_of(await here.ask("GET", "/schedules/busy/slots", token=token), 404)


@pytest.mark.parametrize(
    "query",
    [
        "/slots?since=2026-01-01T00:00:00Z&until=2026-01-01T00:30:00Z",
        "/slots?since=2026-01-01T00:00:00Z&until=2026-03-01T00:00:00Z",
        "/slots?until=2025-01-01T00:00:00Z&since=2026-01-01T00:00:00Z", "/slots?bins=0", "/slots?bins=401",
        "/slots?limit=201", "/slots?after=x", "/slots?since=yesterday", "/schedules/busy/slots?after=-1",
        "/schedules/busy/slots?after=%C2%B2", "/schedules/busy/slots?since=1",
    ],
)  # fmt: skip
@patiently
async def test_what_makes_no_sense_is_refused(query: str) -> None:
    """With 422 and a sentence, as everywhere."""
    async with api() as here:
        await here.post("/schedules", {**OFTEN, "name": "busy"})
        problem_of(await here.ask("GET", query), 422)


@patiently
async def test_why_in_the_zone_of_who_asks(url: str) -> None:
    """Every instant of its sentences and of its chain, but not those that a command takes."""
    async with api(url) as here:
        await _play(here)
        tokyo = await here.get("/schedules/busy/why?slot=2026-01-01T00:10:00Z&zone=Asia/Tokyo")
        assert tokyo["notes"][0].endswith(
            "from Thu 2026-01-01 09:10:00 Asia/Tokyo to Thu 2026-01-01 09:15:00 Asia/Tokyo."
        )
        texts = " ".join([tokyo["text"], *tokyo["notes"], *(step["text"] for step in tokyo["chain"][1:])])
        assert ("Z" in texts, "UTC" in texts) == (False, False)
        early = await here.get("/schedules/busy/why?slot=2025-12-31T23:10:00Z&zone=Asia/Tokyo")
        assert "--from 2025-12-31T23:10:00Z" in early["advice"]
        run = (await here.get("/runs?schedule=busy"))["items"][0]["id"]
        assert "Asia/Tokyo" in " ".join((await here.get(f"/runs/{run}/why?zone=Asia/Tokyo"))["notes"])
        by_hand = await here.post("/runs", {"job": "calm"})
        assert (await here.get(f"/runs/{by_hand['id']}/why?zone=Asia/Tokyo"))["text"].endswith(
            "09:26:00 Asia/Tokyo"
        )
        wrong = problem_of(await here.ask("GET", "/schedules/busy/why?zone=Asia/Tokio"), 422)
        assert (wrong["field"], wrong["nearest"]) == ("zone", "Asia/Tokyo")
