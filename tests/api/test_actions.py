"""A person's word on schedules, one by one and many at once: pause, move, trigger, backfill; and why."""

from tickwise.stores.access_records import AccessRole

from ..support.api import NIGHTLY, api, problem_of
from ..support.app import patiently

HOURLY = {**NIGHTLY, "name": "hourly", "schedule": "0 * * * *"}


@patiently
async def test_pause_resume_reschedule_and_reset(url: str) -> None:
    """S29, S31, S4: a person's word changes what is to come, and who said it is kept."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        paused = await here.post("/schedules/nightly:pause", {"reason": "the database moves"})
        assert paused["next_run_at"] is None
        pause = {"at": "2026-01-01T00:00:00Z", "by": "inside", "reason": "the database moves", "until": None}
        assert paused["paused"] == pause
        assert (await here.post("/schedules/nightly:resume"))["next_run_at"] == "2026-01-01T03:00:00Z"
        moved = await here.post("/schedules/nightly:reschedule", {"to": "2026-01-01T01:00:00Z"})
        assert moved["next_run_at"] == moved["moved_to"] == "2026-01-01T01:00:00Z"
        past = await here.ask("POST", "/schedules/nightly:reschedule", json={"to": "2025-01-01T01:00:00Z"})
        problem_of(past, 422)
        assert (await here.post("/schedules/nightly:reset"))["cursor"] == "2026-01-01T00:00:00Z"
        actions = [row["action"] for row in (await here.get("/audit?subject=nightly"))["items"]]
        told = ["schedule.reset", "schedule.reschedule", "schedule.resume", "schedule.pause", "schedule.create"]
        assert actions == told


@patiently
async def test_a_pause_with_an_end_and_a_slot_to_skip(url: str) -> None:
    """S66: what is asked for later is shown, explained, taken back, and kept with who asked for it."""
    async with api(url) as here:
        await here.post("/schedules", HOURLY)
        paused = await here.post("/schedules/hourly:pause", {"until": "2026-01-01T02:30:00Z"})
        assert (paused["paused"]["until"], paused["next_run_at"]) == (
            "2026-01-01T02:30:00Z",
            "2026-01-01T03:00:00Z",
        )
        past = await here.ask("POST", "/schedules/hourly:pause", json={"until": "2025-01-01T00:00:00Z"})
        assert problem_of(past, 422)["field"] == "until"
        await here.post("/schedules/hourly:resume")
        marked = await here.post("/schedules/hourly:skip", {"slot": "2026-01-01T01:00:00Z", "reason": "no power"})
        assert marked["skips"] == [{"slot": "2026-01-01T01:00:00Z", "by": "inside", "reason": "no power"}]
        assert marked["next_run_at"] == "2026-01-01T02:00:00Z"
        why = await here.get("/schedules/hourly/why?slot=2026-01-01T01:00:00Z")
        assert "will be skipped by hand (no power, by inside)" in why["text"]
        listed = await here.get("/schedules/hourly/slots?since=2026-01-01T00:30:00Z&until=2026-01-01T01:30:00Z")
        assert [one["reason"] for one in listed["items"] if one["slot"] == "2026-01-01T01:00:00Z"] == [
            "skipped_by_hand"
        ]
        coming = await here.get("/upcoming?hours=3")
        assert [run["slot"][11:13] for run in coming["items"]][:1] == ["02"]
        undone = await here.post("/schedules/hourly:skip", {"slot": "2026-01-01T01:00:00Z", "undo": True})
        assert (undone["skips"], undone["next_run_at"]) == ([], "2026-01-01T01:00:00Z")
        wrong = await here.ask("POST", "/schedules/hourly:skip", json={"slot": "2026-01-01T01:30:00Z"})
        assert problem_of(wrong, 422)["field"] == "slot"
        actions = [row["action"] for row in (await here.get("/audit?subject=hourly"))["items"]]
        assert actions[:4] == ["schedule.unskip", "schedule.skip", "schedule.resume", "schedule.pause"]


@patiently
async def test_a_trigger_is_refused_while_the_job_is_active(url: str) -> None:
    """S30: the run in the way is named, unless it may run beside it."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        first = await here.post("/schedules/nightly:trigger", {"params": {"table": "users"}})
        assert (first["trigger"], first["params"], first["by"]) == ("manual", {"table": "users"}, "inside")
        assert first["id"] in problem_of(await here.ask("POST", "/schedules/nightly:trigger"), 409)["detail"]
        await here.post("/schedules/nightly:trigger", {"allow_overlap": True})


@patiently
async def test_only_params_that_there_are_may_be_set(url: str) -> None:
    """Declared params may be set, others may not, by an admin neither; and no variables (A18)."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        token = await here.token(AccessRole.OPERATOR)
        wrong = {"params": {"tabel": "users"}}
        for who in (token, await here.token(AccessRole.ADMIN)):
            found = problem_of(await here.ask("POST", "/schedules/nightly:trigger", json=wrong, token=who), 422)
            assert (found["field"], found["nearest"]) == ("params.tabel", "table")
            assert found["detail"].endswith("no parameter tabel (did you mean table?): it takes table")
        env = {"env": {"LD_PRELOAD": "x"}}
        problem_of(await here.ask("POST", "/schedules/nightly:trigger", json=env, token=token), 422)
        await here.post("/schedules/nightly:trigger", {"params": {"table": "users"}}, token=token)


@patiently
async def test_many_at_once_each_get_an_answer(url: str) -> None:
    """A bulk action does what it can and says of each what became of it; a thousand is the most."""
    async with api(url) as here:
        for body in (NIGHTLY, HOURLY):
            await here.post("/schedules", body)
        names = {"names": ["nightly", "hourley", "hourly", "nightly"]}
        for action in ("pause", "resume", "trigger"):
            items = (await here.post(f"/schedules:{action}", names))["items"]
            assert [(one["name"], one["done"]) for one in items] == [
                ("nightly", True), ("hourley", False), ("hourly", True)
            ]  # fmt: skip
            assert items[1]["problem"]["nearest"] == "hourly"
        assert {run["job"] for run in (await here.get("/runs"))["items"]} == {"nightly", "hourly"}
        too_many = {"names": [f"s{n}" for n in range(1_001)]}
        problem_of(await here.ask("POST", "/schedules:pause", json=too_many), 422)


@patiently
async def test_a_backfill_is_listed_made_followed_and_cancelled(url: str) -> None:
    """S32: a dry run changes nothing; then its progress is told, until it is cancelled."""
    async with api(url) as here:
        await here.post("/schedules", {**HOURLY, "overlap": "allow"})
        asked = {"start": "2025-12-31T00:00:00Z", "end": "2025-12-31T05:00:00Z", "overlap": "queue"}
        dry = await here.post("/schedules/hourly:backfill", {**asked, "dry_run": True})
        assert len(dry["slots"]) == 5
        assert (await here.get("/schedules/hourly/backfill"))["active"] is False
        assert (await here.post("/schedules/hourly:backfill", asked))["slots"] == dry["slots"]
        world = await here.world()
        await world.tick()
        progress = await here.get("/schedules/hourly/backfill")
        assert progress == {"active": True, "asked": 5, "made": 1, "left": 4}
        over = (await here.ask("DELETE", "/schedules/hourly/backfill")).json()
        assert over == {"active": False, "asked": 1, "made": 1, "left": 0}


@patiently
async def test_why_tells_the_chain_of_reasons(url: str) -> None:
    """A slot that ran, one that was skipped and one that is none are told in words, with what can be done."""
    async with api(url) as here:
        await here.post("/schedules", HOURLY)
        world = await here.world()
        here.clock.advance(3_600)
        await world.tick()
        here.clock.advance(3_600)
        await world.tick()
        ran = await here.get("/schedules/hourly/why?slot=2026-01-01T01:00:00Z")
        assert (ran["verdict"], ran["reason"]) == ("fired", "on_time")
        skipped = await here.get("/schedules/hourly/why")
        assert (skipped["verdict"], skipped["reason"]) == ("skipped", "overlap")
        assert "overlap: queue" in skipped["advice"]
        assert [link["mark"] for link in skipped["chain"]].count("no") == 1
        none = await here.get("/schedules/hourly/why?slot=2026-01-01T01:30:00Z")
        assert none["reason"] == "no_slot"
        (decision,) = (await here.get("/schedules/hourly/decisions"))["items"]
        assert (decision["reason"], decision["first"]) == ("overlap", "2026-01-01T02:00:00Z")
        assert (await here.get("/decisions?reason=overlap"))["items"] == [decision]
        assert (await here.get("/decisions?reason=missed"))["items"] == []
        assert problem_of(await here.ask("GET", "/decisions?reason=overlpa"), 422)["nearest"] == "overlap"
