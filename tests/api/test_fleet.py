"""The fleet and the whole: workers, queues, the pause of everything, the overview, tokens, the audit."""

from dataclasses import replace

import pytest

from tickwise.core.planner import plan
from tickwise.core.requirements import ALL, Offers
from tickwise.core.settle import Failed
from tickwise.stores.access_records import AccessRole
from tickwise.stores.records import Enqueue, Node, Role

from ..support.api import NIGHTLY, api, problem_of
from ..support.app import patiently

HOURLY = {**NIGHTLY, "name": "hourly", "schedule": "0 * * * *"}


@patiently
async def test_workers_are_live_or_not(url: str) -> None:
    """A process says what it serves and what it could not read; when it was not seen for long it is not live."""
    async with api(url) as here:
        store = await here.store()
        node = Node("w9", (Role.TICKER, Role.WORKER), "here", 7, "1", ("default",), 4, 1, ("bad.yaml: no",))
        await store.beat(node, passed=True)
        (told,) = (await here.get("/workers"))["items"]
        assert (told["live"], told["busy"], told["queues"], told["problems"]) == (
            True,
            1,
            ["default"],
            ["bad.yaml: no"],
        )
        assert told["roles"] == ["ticker", "worker"]
        assert told["passed_at"] == "2026-01-01T00:00:00Z"
        here.clock.advance(3_600)
        await store.beat(replace(node, id="w0"))
        assert [(one["id"], one["live"]) for one in (await here.get("/workers"))["items"]] == [
            ("w0", True), ("w9", False)
        ]  # fmt: skip


@patiently
async def test_queues_are_counted_and_limited(url: str) -> None:
    """What waits and runs is told by queue, with the limits that an admin has set; nulls lift them."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        for _ in range(3):
            await here.post("/runs", {"job": "nightly"})
        await (await here.world()).lease(1)
        limits = {"concurrency": 2, "starts_per_second": 1.5}
        set_ = (await here.ask("PUT", "/queues/default", json=limits)).json()
        assert {name: set_[name] for name in ("waiting", "running", *limits)} == {
            "waiting": 2, "running": 1, **limits
        }  # fmt: skip
        lifted = (await here.ask("PUT", "/queues/default", json={})).json()
        assert (lifted["concurrency"], lifted["starts_per_second"]) == (None, None)
        problem_of(await here.ask("PUT", "/queues/default", json={"concurrency": 0}), 422)
        assert (await here.get("/audit?subject=default"))["items"][1]["after"] == limits


@patiently
async def test_a_queue_is_paused_and_resumed(url: str) -> None:
    """S66: a run of a paused queue says who paused it and why; limits stay; a time in the past is refused."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        run = (await here.post("/runs", {"job": "nightly"}))["id"]
        await here.ask("PUT", "/queues/default", json={"concurrency": 2})
        wanted = {"reason": "repair", "until": "1h"}
        paused = (await here.post("/queues/default:pause", wanted))["paused"]
        times = {"at": "2026-01-01T00:00:00Z", "until": "2026-01-01T01:00:00Z"}
        assert paused == {"by": "inside", "reason": "repair", **times}
        world = await here.world()
        waits = (await here.get(f"/runs/{run}"))["waits"]
        assert "The queue default is paused since" in " ".join(waits)
        assert await world.lease() == ()
        resumed = await here.post("/queues/default:resume")
        assert (resumed["paused"], resumed["concurrency"]) == (None, 2)
        refused = await here.ask("POST", "/queues/default:pause", json={"until": "2025-01-01T00:00:00Z"})
        assert "has passed" in problem_of(refused, 422)["detail"]
        actions = [one["action"] for one in (await here.get("/audit?subject=default"))["items"]]
        assert actions == ["queue.resume", "queue.pause", "queue.limit"]


@patiently
async def test_all_running_runs_of_a_job_are_cancelled(url: str) -> None:
    """S66: those that run are asked to end; those that are queued end if asked, and others never."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        await here.post("/schedules", HOURLY)
        runs = [(await here.post("/runs", {"job": name}))["id"] for name in ("nightly", "nightly", "hourly")]
        await (await here.world()).lease(1)
        assert await here.post("/jobs/nightly:cancel") == {"runs": [runs[0]]}
        assert (await here.post("/jobs/nightly:cancel", {"queued": True}))["runs"] == [runs[1], runs[0]]
        states = [(await here.get(f"/runs/{run}"))["state"] for run in runs]
        assert states == ["running", "cancelled", "queued"]
        problem_of(await here.ask("POST", "/jobs/nobody:cancel"), 404)


@patiently
async def test_everything_is_paused_and_resumed(url: str) -> None:
    """S29: while all is paused nothing is decided; the interval is kept, with who and why."""
    async with api(url) as here:
        await here.post("/schedules", HOURLY)
        world = await here.world()
        paused = (await here.ask("PUT", "/pause", json={"reason": "moving"})).json()["paused"]
        assert paused == {
            "at": "2026-01-01T00:00:00Z", "by": "inside", "reason": "moving", "until": None, "resumes_at": None,
        }  # fmt: skip
        here.clock.advance(3_600)
        await world.tick()
        assert (await here.get("/runs"))["items"] == []
        told = (await here.get("/overview"))["warnings"][0]["text"]
        assert told == "Everything is paused since 2026-01-01T00:00:00Z by inside: moving."
        over = (await here.ask("DELETE", "/pause")).json()
        assert over["paused"] is None
        assert over["history"][0]["until"] == "2026-01-01T01:00:00Z"


@patiently
async def test_the_overview_tells_what_is_wrong_and_the_way_out(url: str) -> None:
    """Counts, the oldest that waits, warnings with advice, and the last hour by minute."""
    async with api(url) as here:
        await here.post("/schedules", {**HOURLY, "queue": "lonely"})
        await here.post("/runs", {"job": "hourly"})
        found = await here.get("/overview")
        assert (found["counts"]["schedules"], found["counts"]["waiting"]) == (1, {"lonely": 1})
        assert found["oldest_waiting_at"] == "2026-01-01T00:00:00Z"
        advice = [one["advice"] for one in found["warnings"]]
        assert advice == [
            "Start one: tickwise serve, or tickwise ticker.", "Start one: tickwise worker --queues lonely."
        ]  # fmt: skip
        assert len(found["minutes"]) == 60
        assert found["minutes"][-1] == {"start": "2026-01-01T00:00:00Z", "fired": 1, "skipped": 0, "failed": 0}


@patiently
async def test_slots_that_are_held_for_want_of_a_worker_are_told(url: str) -> None:
    """By queue, with the way out, by the overview and by the doctor (S47)."""
    async with api(url) as here:
        await here.post("/schedules", {**HOURLY, "queue": "lonely"})
        world = await here.world()
        here.clock.advance(3_600)
        await world.tick()
        warning = (await here.get("/overview"))["warnings"][-1]
        assert warning["text"] == "No live worker serves the queue lonely: jobs hold their slots (1)."
        assert "tickwise worker --queues lonely" in warning["advice"]
        (finding,) = (one for one in (await here.get("/doctor"))["findings"] if one["code"] == "slots_held")
        assert finding["what"] == "no live worker serves the queue lonely: the slots of hourly are held"
        assert finding["repair"] == "tickwise worker --allow-commands --queues lonely"


@patiently
async def test_commands_that_no_worker_may_execute_are_told(url: str) -> None:
    """POST answers 201 with a warning, the slots are held, and why, overview and doctor say what to start (A1)."""
    start = "tickwise worker --allow-commands --queues default"
    async with api(url) as here:
        store = await here.store()
        plain = Node("w1", (Role.WORKER,), queues=("default",), seconds=10**9, offers=Offers.of(["other"]))
        await store.beat(plain)
        made = await here.post("/schedules", HOURLY)
        what = "no live worker of the queue default may execute its commands"
        assert made["warnings"] == [f"{what}: its slots are held until one does. Start one: {start}"]
        here.clock.advance(3_600)
        await store.tick(plan, "w1")
        assert (await here.get("/runs"))["items"] == []
        why = await here.get("/schedules/hourly/why")
        assert (why["reason"], why["text"], why["advice"]) == ("no_worker", what, f"Start one: {start}.")
        warning = (await here.get("/overview"))["warnings"][-1]
        assert warning["text"] == f"{what.capitalize()}: jobs hold their slots (1)."
        assert "--allow-commands" in warning["advice"]
        (finding,) = (one for one in (await here.get("/doctor"))["findings"] if one["code"] == "slots_held")
        assert finding["repair"] == start
        changed = await here.ask("PATCH", "/schedules/hourly", json={"command": "echo other"})
        assert changed.json()["warnings"] == made["warnings"]
        await store.beat(replace(plain, offers=Offers.of(commands=[ALL])))
        await store.tick(plan, "w1")
        assert [run["state"] for run in (await here.get("/runs"))["items"]] == ["queued"]


@patiently
async def test_the_oldest_of_many_that_wait_is_found(url: str) -> None:
    """However many came after it, the run that waits longest is told."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        store = await here.store()
        for number in (1, 1_500, 1_500):
            await store.enqueue([Enqueue("nightly") for _ in range(number)])
            here.clock.advance(600)
        assert (await here.get("/overview"))["oldest_waiting_at"] == "2026-01-01T00:00:00Z"


@patiently
async def test_the_last_hour_counts_failures_and_skips(url: str) -> None:
    """A run that failed and a slot that was skipped are counted in their minute."""
    async with api(url) as here:
        await here.post("/schedules", HOURLY)
        world = await here.world()
        here.clock.advance(3_600)
        await world.tick()
        (lease,) = await world.lease()
        here.clock.advance(3_600)
        await world.tick()
        await world.end(lease, Failed())
        minute = (await here.get("/overview"))["minutes"][-1]
        assert minute == {"start": "2026-01-01T02:00:00Z", "fired": 0, "skipped": 1, "failed": 1}
        await here.post("/schedules/hourly:trigger")
        (lease,) = await world.lease()
        await world.end(lease, Failed())
        assert (await here.get("/overview"))["minutes"][-1]["failed"] == 2


@patiently
async def test_tokens_are_issued_listed_and_revoked(url: str) -> None:
    """A name is taken as long as its token lives; a revoked token stays in the list."""
    async with api(url) as here:
        made = await here.post(
            "/tokens", {"name": "ci", "role": "operator", "scopes": ["etl-*"], "expires": "30d"}
        )
        assert (made["expires_at"], made["scopes"]) == ("2026-01-31T00:00:00Z", ["etl-*"])
        problem_of(await here.ask("POST", "/tokens", json={"name": "ci", "role": "viewer"}), 409)
        revoked = (await here.ask("DELETE", f"/tokens/{made['id']}")).json()
        assert revoked["revoked_at"] == "2026-01-01T00:00:00Z"
        assert [one["id"] for one in (await here.get("/tokens"))["items"]] == [made["id"]]
        await here.post("/tokens", {"name": "ci", "role": "viewer"})
        problem_of(await here.ask("DELETE", "/tokens/nobodys"), 404)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "a", "role": "root"}, "role"), ({"name": "", "role": "viewer"}, "name"),
        ({"name": "a", "role": "viewer", "expires": "2020-01-01T00:00:00Z"}, "expires"),
        ({"name": "a", "role": "viewer", "scopes": ["a b"]}, "scopes.0"),
    ],
)  # fmt: skip
@patiently
async def test_a_token_that_makes_no_sense_is_refused(body: dict[str, object], field: str) -> None:
    """Unknown roles, empty names, past ends and patterns that match no name are refused."""
    async with api() as here:
        assert problem_of(await here.ask("POST", "/tokens", json=body), 422)["field"] == field


@patiently
async def test_every_change_is_kept_with_who_made_it(url: str) -> None:
    """The audit tells who did what to which thing, and what that changed, the newest first and page by page."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        token = await here.token(AccessRole.ADMIN, name="ann")
        await here.ask("PATCH", "/schedules/nightly", json={"schedule": "0 4 * * *"}, token=token)
        (row,) = (await here.get("/audit?limit=1"))["items"]
        assert (row["who"], row["action"], row["subject"]) == ("ann", "schedule.change", "nightly")
        assert (row["before"]["schedule"], row["after"]["schedule"]) == ("0 3 * * *", "0 4 * * *")
        page = await here.get("/audit?limit=2")
        rest = await here.get(f"/audit?limit=2&after={page['next']}")
        actions = [one["action"] for one in page["items"] + rest["items"]]
        assert actions == ["schedule.change", "token.create", "schedule.create"]
        problem_of(await here.ask("GET", "/audit?after=nonsense"), 422)


@patiently
async def test_the_audit_names_tokens_by_their_names(url: str) -> None:
    """Who was let in and locked out is found by name; which of their tokens it was, by its id."""
    async with api(url) as here:
        made = await here.post("/tokens", {"name": "ann of ops", "role": "viewer"})
        await here.ask("DELETE", f"/tokens/{made['id']}")
        rows = (await here.get("/audit?subject=ann of ops"))["items"]
        assert [row["action"] for row in rows] == ["token.revoke", "token.create"]
        assert {row["after"]["id"] for row in rows} == {made["id"]}


@patiently
async def test_all_reasons_are_told() -> None:
    """Every code has its text and its advice."""
    async with api() as here:
        found = {one["code"]: one for one in (await here.get("/reasons"))["items"]}
        assert found["overlap"]["verdict"] == "skipped"
        assert all(one["text"] and one["advice"] for one in found.values())
