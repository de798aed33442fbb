"""Runs: asked for, listed, cancelled, retried, explained; their steps and logs."""

import asyncio

import pytest

from tickwise.api.routes import logs
from tickwise.core.settle import Failed, Waits
from tickwise.core.step_waits import StepWait
from tickwise.stores.access_records import AccessRole
from tickwise.stores.records import LogPart, StepReport

from ..support.api import NIGHTLY, api, problem_of
from ..support.app import patiently

PIPELINE = {
    "name": "etl",
    "schedule": "0 * * * *",
    "steps": [
        {"name": "extract", "command": "echo a"},
        {"name": "load", "command": "echo b", "depends": ["extract"]},
    ],
}


TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize(
    ("header", "kept"), [(TRACE, TRACE), (TRACE.upper(), ""), (f"00-{0:032}-{1:016}-01", ""), ("", "")]
)
@patiently
async def test_a_run_keeps_the_trace_of_the_request_that_asked_for_it(header: str, kept: str) -> None:
    """`traceparent` of an enqueue and a trigger; one that is not valid counts as none, and none is handed on."""
    async with api() as here:
        await here.post("/schedules", NIGHTLY)
        made = await here.ask("POST", "/runs", json={"job": "nightly"}, headers={"traceparent": header})
        by_hand = await here.ask("POST", "/schedules/nightly:trigger", headers={"traceparent": header})
        plain = await here.post("/runs", {"job": "nightly"})
        assert [run["traceparent"] for run in (made.json(), by_hand.json(), plain)] == [kept, kept, ""]


@patiently
async def test_a_run_is_enqueued_now_or_later_once_per_key(url: str) -> None:
    """S48: a taken key gives the run that has it; a time to come is kept to."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        body = {"job": "nightly", "params": {"table": "users"}, "at": "2h", "key": "k"}
        made = await here.ask("POST", "/runs", json=body)
        run = made.json()
        assert made.headers["location"] == f"/api/v1/runs/{run['id']}"
        assert (run["due_at"], run["params"]) == ("2026-01-01T02:00:00Z", {"table": "users"})
        again = await here.ask("POST", "/runs", json=body)
        assert (again.status_code, again.json()["id"], run["by"]) == (200, run["id"], "inside")
        told = (await here.get(f"/runs/{run['id']}"))["waits"]
        assert told == ["It may not start before 2026-01-01T02:00:00Z."]


@patiently
async def test_many_at_the_same_moment(url: str) -> None:
    """Each gets its own answer: a run that is audited, the run that has its key, or what is wrong (S48)."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        keyed = [{"job": "nightly", "key": "k", "params": {"table": n}} for n in range(2)]
        bodies = [{"job": "nightly"}, {"job": "nightli"}, *keyed, {"job": "nightly", "params": {"tabel": 1}}]
        answers = await asyncio.gather(*(here.ask("POST", "/runs", json=body) for body in bodies))
        assert [answer.status_code for answer in answers] == [201, 422, 201, 200, 422]
        plain, unknown, first, second, wrong = (answer.json() for answer in answers)
        assert (unknown["field"], unknown["nearest"], wrong["nearest"]) == ("job", "nightly", "table")
        assert (second, first["params"]) == (first, {"table": 0})
        entries = [entry for entry in (await here.get("/audit"))["items"] if entry["action"] == "run.create"]
        assert sorted(entry["subject"] for entry in entries) == sorted([plain["id"], first["id"]])


@patiently
async def test_options_of_one_run(url: str) -> None:
    """Queue, priority and the time of a key are given for one run (A25)."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        body = {"job": "nightly", "queue": "fast", "priority": 7, "key": "k", "key_ttl": "1h"}
        run = await here.post("/runs", body)
        assert (run["queue"], run["priority"], run["key"]) == ("fast", 7, "k")
        for wrong in ({"priority": 1_001}, {"queue": "a b"}, {"key": "k", "key_ttl": "soon"}, {"key_ttl": "1h"}):
            found = problem_of(await here.ask("POST", "/runs", json={"job": "nightly", **wrong}), 422)
            assert found["field"] == list(wrong)[-1]


@patiently
async def test_big_integers_stay_exact(url: str) -> None:
    """Numbers that a float cannot hold come back as they were given."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        run = await here.post("/runs", {"job": "nightly", "params": {"table": 2**63 - 1}})
        assert (await here.get(f"/runs/{run['id']}"))["params"] == {"table": 2**63 - 1}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"job": "nightly", "at": "soon"}, "at"), ({"job": "nightly", "parms": {}}, "parms"),
        ({"job": "nightly", "params": {"a": "x" * 1_100_000}}, None), ({"job": 7}, "job"), ({}, "job"),
        ({"job": "nightly", "params": {"tabel": "users"}}, "params.tabel"),
        ({"job": "nightly", "key": ""}, "key"), ({"job": "nightly", "at": "2026-02-30T00:00:00Z"}, "at"),
    ],
)  # fmt: skip
@patiently
async def test_a_run_that_cannot_be_made_is_refused(body: dict[str, object], field: str | None) -> None:
    """Nothing is queued for a request that cannot be used."""
    async with api() as here:
        await here.post("/schedules", NIGHTLY)
        answer = await here.ask("POST", "/runs", json=body)
        assert problem_of(answer, 413 if len(str(body)) > 2**20 else 422).get("field") == field
        assert (await here.get("/runs"))["items"] == []


@patiently
async def test_runs_are_found_by_state_trigger_queue_time_and_text(url: str) -> None:
    """Each filter leaves what fits, several states may be given, and the newest come first."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        await here.post("/schedules", {**PIPELINE, "queue": "heavy"})
        one = (await here.post("/runs", {"job": "nightly"}))["id"]
        here.clock.advance(60)
        two = (await here.post("/schedules/etl:trigger"))["id"]
        await here.ask("POST", f"/runs/{one}:cancel")
        for query, ids in (
            ("", [two, one]), ("job=etl", [two]), ("state=cancelled", [one]), ("trigger=manual", [two]),
            ("state=cancelled&state=queued", [two, one]), ("queue=heavy", [two]), ("text=NIGHT", [one]),
            ("since=2026-01-01T00:01:00Z", [two]), ("until=2026-01-01T00:01:00Z", [one]), (f"text={two}", [two]),
            ("schedule=nightly", []),
        ):  # fmt: skip
            found = await here.get(f"/runs?{query}")
            assert [run["id"] for run in found["items"]] == ids, query


@patiently
async def test_a_failed_run_goes_on_from_its_failed_step(url: str) -> None:
    """Steps are told with their graph; a retry keeps what succeeded, or makes a new run of everything."""
    async with api(url) as here:
        await here.post("/schedules", PIPELINE)
        world = await here.world()
        run = (await here.post("/schedules/etl:trigger"))["id"]
        (lease,) = await world.lease()
        now = await (await here.store()).now()
        done, failed = (
            StepReport("extract", "succeeded", now, now, outputs='{"rows":3}'),
            StepReport("load", "failed", now, now, 1, "boom"),
        )
        items = [StepReport(f"extract[{number}]", "succeeded", now, now) for number in (10, 2)]
        await (await here.store()).report(run, lease.token, [done, failed, StepReport("gone", "skipped"), *items])
        await world.end(lease, Failed(), error="boom")
        steps = (await here.get(f"/runs/{run}/steps"))["items"]
        assert [(one["name"], one["depends"], one["state"]) for one in steps] == [
            ("extract", [], "succeeded"), ("extract[2]", [], "succeeded"), ("extract[10]", [], "succeeded"),
            ("load", ["extract"], "failed"), ("gone", [], "skipped"),
        ]  # fmt: skip
        assert (steps[0]["outputs"], steps[3]["error"]) == ({"rows": 3}, "boom")
        whole = await here.post(f"/runs/{run}:retry", {"from_failed": False})
        assert (whole["id"] != run, whole["trigger"]) == (True, "manual")
        await here.ask("POST", f"/runs/{whole['id']}:cancel")
        again = await here.post(f"/runs/{run}:retry")
        assert (again["id"], again["state"]) == (run, "queued")
        (attempt,) = (await here.get(f"/runs/{run}/attempts"))["items"]
        assert (attempt["number"], attempt["error"]) == (1, "boom")
        problem_of(await here.ask("POST", f"/runs/{run}:retry"), 409)


@patiently
async def test_a_run_that_waits_says_for_what(url: str) -> None:
    """S74: a step that is a run of another job names it; the parent says that it waits, and so does why."""
    async with api(url) as here:
        await here.post("/schedules", {"name": "child", "schedule": "@yearly", "command": "true"})
        steps = [{"name": "load", "job": "child"}, {"name": "later", "depends": "load", "job": "child"}]
        await here.post("/schedules", {"name": "parent", "schedule": "@yearly", "steps": steps})
        world, store = await here.world(), await here.store()
        run = (await here.post("/schedules/parent:trigger"))["id"]
        (lease,) = await world.lease()
        wait = StepWait(1, 1, "child", "step:1:1.1.load", "17")
        await store.report(run, lease.token, [StepReport("load", "waiting", 1, waits_for=wait.text)])
        await world.end(lease, Waits(60), error="run 17 of child")
        found = (await here.get(f"/runs/{run}/steps"))["items"]
        assert [(one["job"], one["child"]) for one in found] == [("child", "17"), ("child", None)]
        row = await here.get(f"/runs/{run}")
        assert (row["state"], row["waits_for"], row["waits"]) == (
            "queued", "run 17 of child", ["It waits for run 17 of child."]
        )  # fmt: skip
        texts = [one["text"] for one in (await here.get(f"/runs/{run}/why"))["chain"]]
        assert "It waits for run 17 of child." in texts


@patiently
async def test_a_failed_run_goes_on_from_any_step(url: str) -> None:
    """That step and those after it are repeated, by the job as it was; what cannot be meant changes nothing."""
    async with api(url) as here:
        await here.post("/schedules", PIPELINE)
        world, store = await here.world(), await here.store()
        run = (await here.post("/schedules/etl:trigger"))["id"]
        (lease,) = await world.lease()
        now = await store.now()
        await store.report(
            run, lease.token, [StepReport(name, "succeeded", now, now) for name in ("extract", "load", "load[0]")]
        )
        problem_of(await here.ask("POST", f"/runs/{run}:retry", json={"from_step": "load"}), 409)  # it runs
        await world.end(lease, Failed(), error="boom")
        await here.ask("PATCH", "/schedules/etl", json={"steps": [{"name": "other", "command": "true"}]})
        for wrong in ("laod", "other", "", "x" * 201, "../load", 7, ["load"]):
            problem_of(await here.ask("POST", f"/runs/{run}:retry", json={"from_step": wrong}), 422)
        near = problem_of(await here.ask("POST", f"/runs/{run}:retry", json={"from_step": "laod"}), 422)
        assert (near["field"], near["nearest"]) == ("from_step", "load")
        both = {"from_step": "load", "from_failed": False}
        problem_of(await here.ask("POST", f"/runs/{run}:retry", json=both), 422)
        problem_of(await here.ask("POST", "/runs/999999:retry", json={"from_step": "load"}), 404)
        viewer = await here.token(AccessRole.VIEWER)
        problem_of(await here.ask("POST", f"/runs/{run}:retry", json={"from_step": "load"}, token=viewer), 403)
        steps = (await here.get(f"/runs/{run}/steps"))["items"]
        assert [step["name"] for step in steps if step["state"] == "succeeded"][:2] == ["extract", "load"]
        again = await here.post(f"/runs/{run}:retry", {"from_step": "load"})
        assert (again["id"], again["state"]) == (run, "queued")
        assert [step.name for step in await store.insights.steps(run)] == ["extract"]
        entry = (await here.get("/audit"))["items"][0]
        assert (entry["action"], entry["after"]["from_step"]) == ("run.retry", "load")


@patiently
async def test_at_most_once_repeats_no_step(url: str) -> None:
    """Not even when a person names it (S43)."""
    async with api(url) as here:
        await here.post("/schedules", {**PIPELINE, "at_most_once": True})
        world = await here.world()
        run = (await here.post("/schedules/etl:trigger"))["id"]
        (lease,) = await world.lease()
        await world.end(lease, Failed(), error="boom")
        refused = problem_of(await here.ask("POST", f"/runs/{run}:retry", json={"from_step": "load"}), 409)
        assert "at_most_once" in refused["detail"]


@patiently
async def test_a_job_tells_its_params(url: str) -> None:
    """By name, type and default, for a form; a secret is not shown."""
    async with api(url) as here:
        await here.post(
            "/schedules", {**NIGHTLY, "params": {"table": "orders", "limit": 5, "password": "hunter2"}}
        )
        found = await here.get("/jobs/nightly")
        assert found["params"] == [
            {"name": "limit", "type": "integer", "default": 5, "required": False, "secret": False},
            {"name": "password", "type": "string", "default": None, "required": False, "secret": True},
            {"name": "table", "type": "string", "default": "orders", "required": False, "secret": False},
        ]


@patiently
async def test_why_a_run_happened_is_told(url: str) -> None:
    """A run for a slot, one by hand and one by code each say what made them."""
    async with api(url) as here:
        await here.post("/schedules", {**NIGHTLY, "schedule": "0 * * * *"})
        world = await here.world()
        here.clock.advance(3_600)
        await world.tick()
        slot = (await here.get("/runs"))["items"][0]["id"]
        hand = (await here.post("/schedules/nightly:trigger", {"allow_overlap": True}))["id"]
        code = (await here.post("/runs", {"job": "nightly"}))["id"]
        whys = [await here.get(f"/runs/{run}/why") for run in (slot, hand, code)]
        assert [why["reason"] for why in whys] == ["on_time", "by_hand", "by_code"]
        assert "inside" in whys[1]["text"]
        assert whys[0]["slot"] == "2026-01-01T01:00:00Z"
        assert [link["what"] for link in whys[1]["chain"]] == ["asked", "run", "worker", "what to do"]


@patiently
async def test_a_long_log_is_streamed_page_by_page(url: str) -> None:
    """The stream reads on from page to page, and its ids lead back to where it was."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        world, store = await here.world(), await here.store()
        run = (await here.post("/runs", {"job": "nightly"}))["id"]
        (lease,) = await world.lease()
        parts = [LogPart("main", "stdout", f"line {number}\n", await store.now()) for number in range(5)]
        await store.report(run, lease.token, (), parts)
        await world.end(lease)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(logs, "_PAGE_SIZE", 2)
            stream = await here.ask("GET", f"/runs/{run}/logs", headers={"Accept": "text/event-stream"})
            ids = [line for line in stream.text.splitlines() if line.startswith("id: ")]
            assert len(ids) == 3
            headers = {"Accept": "text/event-stream", "Last-Event-ID": ids[0].removeprefix("id: ")}
            rest = await here.ask("GET", f"/runs/{run}/logs", headers=headers)
            assert [number for number in range(5) if f"line {number}" in rest.text] == [2, 3, 4]


@patiently
async def test_logs_come_in_pages_and_the_stream_ends_with_the_run(url: str) -> None:
    """All that was printed is told, in order; the stream of a run that is over ends by itself."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        world = await here.world()
        run = (await here.post("/runs", {"job": "nightly"}))["id"]
        (lease,) = await world.lease()
        now = await (await here.store()).now()
        parts = [LogPart("main", "stdout", f"line {number}\n", now) for number in range(5)]
        await (await here.store()).report(run, lease.token, (), parts)
        await world.end(lease)
        first = await here.get(f"/runs/{run}/logs?limit=3")
        rest = await here.get(f"/runs/{run}/logs?after={first['next']}")
        printed = [part["text"] for part in first["items"] + rest["items"]]
        assert printed == [f"line {number}\n" for number in range(5)]
        stream = await here.ask("GET", f"/runs/{run}/logs", headers={"Accept": "text/event-stream"})
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert [line for line in stream.text.splitlines() if line.startswith("event")] == ["event: log"] * 5 + [
            "event: end"
        ]
        assert '{"state": "succeeded"}' in stream.text
