"""`/metrics`: what Prometheus sees."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tickwise.api import last_successes as last_successes_module
from tickwise.api.auth_settings import AuthSettings
from tickwise.api.metrics import Metrics
from tickwise.core.change import Paused
from tickwise.core.definition import RetryPolicy
from tickwise.core.settle import Failed
from tickwise.runtime import change_feed
from tickwise.stores.access_records import AccessRole
from tickwise.stores.contract import Store, StoreUnavailableError
from tickwise.stores.records import Node, Role
from tickwise.testing.conformance.world import HOURLY, SOURCE, World, job

from ..support.api import api, problem_of
from ..support.app import new_world, patiently


class Scraper:
    """Scrapes as if a second had passed each time."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.steady = 0.0
        self.reads = 0
        self.metrics = Metrics(self._store, lambda: self.steady)

    async def _store(self) -> Store:
        self.reads += 1
        return self.world.store

    async def __call__(self) -> dict[str, float]:
        """Samples by name, with the value of their label if they have one; what is zero is left out."""
        self.steady += 1
        text = (await self.metrics.text()).decode()
        return {
            " ".join([sample.name.removeprefix("tickwise_"), *sample.labels.values()]): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.value and not sample.name.endswith("_created")
        }


async def scraper() -> Scraper:
    """One that has scraped once, so that it counts from here on."""
    found = Scraper(await new_world())
    await found()
    return found


@patiently
async def test_what_there_is() -> None:
    """Gauges say how things are when they are scraped."""
    scrape = await scraper()
    world = scrape.world
    await world.store.beat(Node("t1", (Role.TICKER, Role.API), seconds=60))
    await world.define(job("a", HOURLY), job("b", HOURLY), job("c", queue="other"))
    await world.store.change("b", Paused())
    await world.tick()
    for name in ("a", "a", "c"):
        await world.enqueue(name)
    await world.lease(1)
    world.clock.advance(30)
    found = await scrape()
    assert {name: value for name, value in found.items() if "_total" not in name and "_seconds_" not in name} == {
        "schedules": 2, "schedules_paused": 1, "runs_running": 1, "oldest_waiting_seconds": 30,
        "queue_depth default": 1, "queue_depth other": 1, "nodes worker": 1, "nodes ticker": 1, "nodes api": 1,
    }  # fmt: skip
    world.go("01:00:10")
    found = await scrape()
    assert (found["jobs_overdue"], "nodes ticker" in found) == (1, False)


@patiently
async def test_runs_are_counted_once() -> None:
    """By trigger when they are made, by outcome when they end; however often a scrape meets them on the way."""
    scrape = await scraper()
    world = scrape.world
    await world.define(job("a", HOURLY), job("b"))
    await world.pass_time("01:00")
    await scrape()
    lease = await world.start()
    await scrape()
    await world.end(lease)
    await world.enqueue("b")
    await world.end(await world.start(), Failed())
    await scrape()
    world.clock.advance(3)
    found = await scrape()
    assert {name: value for name, value in found.items() if "_total" in name} == {
        "runs_fired_total schedule": 1, "runs_fired_total enqueue": 1,
        "runs_finished_total succeeded": 1, "runs_finished_total failed": 1,
    }  # fmt: skip
    assert found["run_duration_seconds_count"] == 2


@patiently
async def test_counting_begins_with_the_first_scrape() -> None:
    """What was before is not counted: a counter of a new process begins at zero."""
    world = await new_world()
    await world.define(job("a"))
    await world.enqueue("a")
    await world.work()
    world.clock.advance(1)
    scrape = Scraper(world)
    assert "runs_fired_total enqueue" not in await scrape()


@patiently
async def test_a_long_time_without_scrapes_is_not_made_good() -> None:
    """It would cost more than it is worth; counting goes on from now."""
    scrape = await scraper()
    world = scrape.world
    await world.define(job("a"))
    await world.enqueue("a")
    world.clock.advance(700)
    await scrape()
    await world.enqueue("a")
    assert (await scrape())["runs_fired_total enqueue"] == 1


@patiently
async def test_delays() -> None:
    """From a slot's time to its run, from then to its start, and from that to its end."""
    scrape = await scraper()
    world = scrape.world
    await world.define(job("a", HOURLY, retry=RetryPolicy(limit=1, interval=60)))
    world.go("01:00")
    await scrape()
    world.go("01:00:02")
    await world.tick()
    world.go("01:00:05")
    lease = await world.start()
    await scrape()
    world.go("01:00:09")
    await world.end(lease, Failed())
    await scrape()
    world.go("01:03:00")
    lease = await world.start()
    world.go("01:03:07")
    await world.end(lease)
    found = await scrape()
    assert found["claim_latency_seconds_sum"] == 2
    assert found["lateness_seconds_sum"] == pytest.approx(5 + 120, abs=20), (
        "its second start was put off, with jitter"
    )
    assert (found["lateness_seconds_count"], found["run_duration_seconds_sum"]) == (2, 7)


@patiently
async def test_slots_that_got_no_run() -> None:
    """By reason; a record that grows adds what it grew by (S7)."""
    scrape = await scraper()
    world = scrape.world
    await world.define(job("a", "*/10 * * * *"), job("b", HOURLY, catchup="skip"))
    seen = []
    for time in ("00:10", "00:20", "00:40", "00:50"):
        await world.pass_time(time)
        seen.append((await scrape()).get("slots_skipped_total overlap", 0))
    assert seen == [0, 1, 3, 4]
    world.go("03:30")
    await world.tick()
    assert (await scrape())["slots_skipped_total missed"] == 3


@patiently
async def test_more_than_a_look_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it is counted by one scrape."""
    monkeypatch.setattr(change_feed, "_FIRST_LIMIT", 5)
    scrape = await scraper()
    await scrape.world.define(job("a"))
    for _ in range(33):
        await scrape.world.enqueue("a")
        scrape.world.clock.advance(0.01)
    assert (await scrape())["runs_fired_total enqueue"] == 33


@patiently
async def test_the_oldest_of_many_is_found() -> None:
    """Although lists begin with the newest."""
    scrape = await scraper()
    await scrape.world.define(job("a"))
    for _ in range(50):
        await scrape.world.enqueue("a")
        scrape.world.clock.advance(7)
    assert (await scrape())["oldest_waiting_seconds"] == 350


@patiently
async def test_the_store_is_read_once_a_second() -> None:
    """Whoever asks, and however often."""
    scrape = await scraper()
    for _ in range(5):
        await scrape.metrics.text()
    assert scrape.reads == 1
    scrape.steady += 1
    await scrape.metrics.text()
    assert scrape.reads == 2


@patiently
async def test_a_store_that_does_not_answer() -> None:
    """It is counted; gauges are absent rather than wrong, and counting goes on where it was."""
    scrape = await scraper()
    world = scrape.world
    await world.define(job("a"))
    working = scrape.metrics._store

    async def broken() -> Store:
        raise StoreUnavailableError("the cable is out")

    scrape.metrics._store = broken
    found = await scrape()
    assert (found["store_errors_total"], "nodes worker" in found) == (1, False)
    await world.enqueue("a")
    scrape.metrics._store = working
    found = await scrape()
    assert (found["runs_fired_total enqueue"], found["nodes worker"]) == (1, 1)


@patiently
async def test_names_are_no_labels() -> None:
    """However many jobs there are, there are as many series as before."""
    scrape = await scraper()
    before = (await scrape.metrics.text()).count(b"\n")
    await scrape.world.define(*(job(f"j{number}", HOURLY) for number in range(20)))
    await scrape.world.pass_time("03:00")
    await scrape.world.work()
    scrape.steady += 1
    text = await scrape.metrics.text()
    assert b"j1" not in text
    assert text.count(b"\n") <= before + 1, "one queue has runs now"


@patiently
async def test_who_may_scrape() -> None:
    """Viewers who see all jobs, in the text format of Prometheus (B14)."""
    async with api(access=AuthSettings()) as here:
        problem_of(await here.client.get("/metrics"), 401)
    async with api() as here:
        for scopes, status in (((), 200), (("etl-*",), 403)):
            token = await here.token(AccessRole.VIEWER, *scopes)
            answer = await here.client.get("/metrics", headers={"Authorization": f"Bearer {token}"})
            assert answer.status_code == status
        answer = await here.client.get("/metrics")
        assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (200, "text/plain")
        assert "tickwise_schedules 0.0" in answer.text


@patiently
async def test_the_last_success_of_each_schedule() -> None:
    """For alerts about silence: read when first seen, followed then, forgotten with the schedule."""
    world = await new_world()
    await world.define(job("a", HOURLY), job("b", HOURLY), job("c", HOURLY))
    world.go("01:00:10")
    await world.tick()
    leases = {lease.job.name: lease for lease in await world.lease(3)}
    await world.end(leases["a"])
    await world.end(leases["b"], Failed())
    scrape = Scraper(world)
    name = "schedule_last_success_timestamp_seconds"
    first = world.clock.second
    assert last_successes(await scrape(), name) == {"a": first}
    world.go("01:05:00")
    await world.end(leases["c"])
    assert last_successes(await scrape(), name) == {"a": first, "c": world.clock.second}
    await world.store.remove("a", SOURCE)
    scrape.steady += 60
    assert last_successes(await scrape(), name) == {"c": world.clock.second}


@patiently
async def test_only_so_many_schedules_have_a_series(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound holds, and what is left out is counted."""
    monkeypatch.setattr(last_successes_module, "MAX_SCHEDULES", 1)
    world = await new_world()
    await world.define(job("a", HOURLY), job("b", HOURLY))
    world.go("01:00:10")
    await world.tick()
    for lease in await world.lease(2):
        await world.end(lease)
    found = await Scraper(world)()
    assert last_successes(found, "schedule_last_success_timestamp_seconds") == {"a": world.clock.second}
    assert found["schedules_without_last_success"] == 1


def last_successes(found: dict[str, float], name: str) -> dict[str, float]:
    return {key.removeprefix(f"{name} "): value for key, value in found.items() if key.startswith(name)}
