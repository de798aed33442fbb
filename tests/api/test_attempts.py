"""The work of handed-over attempts: what it asks, what it is told, and what its secrets do not open (S53, S56)."""

import asyncio
import json
from typing import Any

import pytest

from tickwise.api.auth_settings import AuthSettings
from tickwise.core.codec import decode_job
from tickwise.core.definition import PythonCall, Step
from tickwise.core.handover import Accepted, ToldToEnd, digest
from tickwise.core.settle import LeaseExpired
from tickwise.core.states import HandOverState, RunState
from tickwise.stores.access_records import AccessRole
from tickwise.stores.records import Finish

from ..support.api import api, problem_of
from ..support.app import patiently
from ..support.handed_over import CLAIM, OTHER, TICKET, WATCHER, handed, intended

GIVEN = {"day": 3, "password": "hunter2"}
AT = "2026-01-01T00:00:01Z"
STRANGERS = AuthSettings()


@patiently
async def test_the_first_that_asks_begins_and_learns_what_to_do(url: str) -> None:
    """S53: the job as it was enqueued, with params in clear, and the run; asking again gives the same answer."""
    async with api(url, access=STRANGERS) as here:
        one = await handed(here, params={"table": "orders"}, run_params=GIVEN)
        answer = await one.begin()
        assert answer.status_code == 200, answer.text
        begun = answer.json()
        assert decode_job(begun["definition"], begun["run"]["job"]) == one.lease.job
        assert begun["run"] == {
            "id": one.lease.id, "job": "a", "schedule": None, "slot": None, "previous_slot": None,
            "trigger": "enqueue", "trigger_label": "enqueue", "attempt": 1, "failures": 0,
            "params": GIVEN, "events": [], "outputs": {}, "item": None,
        }  # fmt: skip
        assert (begun["done"], begun["lease"]) == ({}, 30)
        assert (await one.begin()).json() == begun
        assert (await one.record()).state is HandOverState.BEGUN


@patiently
async def test_of_many_that_ask_at_once_one_begins(url: str) -> None:
    """S53: whatever the engine delivers, the others are told to leave, and why."""
    async with api(url, access=STRANGERS) as here:
        one = await handed(here)
        answers = await asyncio.gather(*(one.begin(claim=f"{number}" * 43) for number in range(8)))
        assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7
        refused = next(answer for answer in answers if answer.status_code == 409)
        assert problem_of(refused, 409)["detail"] == f"{one.reference} has begun already, elsewhere: leave it"


@patiently
async def test_a_cancelled_attempt_does_not_begin(url: str) -> None:
    """S53, S56: the work is told that the run was cancelled, or that it is over."""
    async with api(url, access=STRANGERS) as here:
        one = await handed(here)
        await one.world.store.cancel(one.lease.id)
        assert "was cancelled before it began" in problem_of(await one.begin(), 409)["detail"]
        await one.world.end(one.lease, LeaseExpired())
        assert "is over" in problem_of(await one.begin(), 409)["detail"]


@patiently
async def test_work_that_lives_hears_of_a_cancellation(url: str) -> None:
    """S42, S56: a sign of life is stored, and answered with whether to end: by a person, or by its watcher."""
    async with api(url, access=STRANGERS) as here:
        one = await handed(here)
        await one.begin()
        here.clock.advance(5)
        assert (await one.ask("alive", CLAIM)).json() == {"cancel": False}
        assert (await one.record()).alive_at == here.clock()
        await one.world.store.hand_over(one.lease.id, one.lease.token, Accepted())
        await one.world.store.hand_over(one.lease.id, one.lease.token, ToldToEnd())
        assert (await one.ask("alive", CLAIM)).json() == {"cancel": True}
        two = await handed(here, "b")
        await two.begin()
        await two.world.store.cancel(two.lease.id)
        assert (await two.ask("alive", CLAIM)).json() == {"cancel": True}


@patiently
async def test_steps_and_log_are_kept(url: str) -> None:
    """What the work reports stands where a worker's report would; done steps are told to the next attempt."""
    steps = tuple(Step(name, PythonCall("m:f")) for name in ("one", "two"))
    async with api(url, access=STRANGERS) as here:
        one = await handed(here, steps=steps)
        await one.begin()
        report = {
            "steps": [{"name": "one", "state": "succeeded", "started_at": AT, "finished_at": AT}],
            "log": [{"step": "one", "stream": "out", "text": "hello\n", "at": AT}],
        }
        assert (await one.ask("report", CLAIM, report)).status_code == 204
        (step,) = await one.world.insights.steps(one.lease.id)
        assert (step.name, step.state, step.started_at) == ("one", "succeeded", 1_767_225_601_000_000)
        (part,) = (await one.world.insights.log(one.lease.id)).items
        assert (part.step, part.stream, part.text) == ("one", "out", "hello\n")
        await one.world.end(one.lease, LeaseExpired())
        (again,) = await one.world.lease(offers=WATCHER)
        two = await intended(here, one.world, again)
        assert (await two.begin()).json()["done"] == {"one": {}}
        assert "is over" not in (await two.ask("report", CLAIM, report)).text


@pytest.mark.parametrize(
    ("end", "state"),
    [
        ({"outcome": "succeeded", "result": {"rows": 3}}, "succeeded"),
        ({"outcome": "failed", "error": "boom"}, "failed"),
        ({"outcome": "cancelled"}, "cancelled"),
        ({"outcome": "unmet"}, "skipped"),
        ({"outcome": "snoozed", "seconds": 60}, "queued"),
        ({"outcome": "handed_back"}, "queued"),
    ],
)
@patiently
async def test_the_end_is_taken_once(url: str, end: dict[str, Any], state: str) -> None:
    """S56: a report whose answer was lost is sent again, changes nothing, and is no error."""
    async with api(url, access=STRANGERS) as here:
        one = await handed(here)
        await one.begin()
        assert (await one.ask("finish", CLAIM, end)).json() == {"state": state, "accepted": True}
        assert (await one.ask("finish", CLAIM, end)).json() == {"state": state, "accepted": False}
        run = await one.world.run(one.lease.id)
        assert (run.state, run.result, run.error) == (state, end.get("result"), end.get("error", ""))
        for move, body in (("alive", None), ("report", {})):
            assert "is over" in problem_of(await one.ask(move, CLAIM, body), 409)["detail"]


@patiently
async def test_an_end_that_somebody_else_took_stays(url: str) -> None:
    """S42: work that its watcher gave up learns that its end was not taken."""
    async with api(url, access=STRANGERS) as here:
        one = await handed(here, at_most_once=True)
        await one.begin()
        await one.world.end(one.lease, LeaseExpired())
        answer = await one.ask("finish", CLAIM, {"outcome": "succeeded"})
        assert answer.json() == {"state": "lost", "accepted": False}
        assert (await one.world.run(one.lease.id)).state is RunState.LOST


@patiently
async def test_a_stranger_learns_nothing(url: str) -> None:
    """S53: an unknown reference, a wrong secret and one for another move get the same answer, whoever asks."""
    async with api(url) as here:
        admin = await here.token(AccessRole.ADMIN)
        one, two = await handed(here), await handed(here, "b", ticket=OTHER)
        bodies: dict[str, Any] = {"begin": {"claim": OTHER}, "finish": {"outcome": "succeeded"}, "report": {}}
        await two.ask("begin", OTHER, {"claim": OTHER})

        async def refusal(move: str, secret: str, reference: str) -> dict[str, Any]:
            answer = await one.ask(move, secret, bodies.get(move), reference)
            found = problem_of(answer, 404)
            return {**found, "detail": found["detail"].replace(reference, "REFERENCE")}

        for begun in (False, True):
            if begun:
                await one.begin()
            for move in ("begin", "alive", "report", "finish"):
                unknown = await refusal(move, TICKET, "999.1")
                wrong = [admin, CLAIM, OTHER] if move == "begin" else [admin, TICKET, OTHER, digest(CLAIM)]
                for secret in wrong:
                    assert await refusal(move, secret, one.reference) == unknown, (move, secret)
                assert await refusal(move, TICKET, f"{one.lease.id}.2") == unknown
                assert await refusal(move, TICKET, "nonsense") == unknown
        assert (await one.record()).claim == digest(CLAIM)
        assert (await one.world.run(one.lease.id)).state is RunState.RUNNING


@patiently
async def test_a_stolen_ticket_is_useless_once_the_work_has_begun(url: str) -> None:
    """S53: whoever reads it in the engine's queue neither begins nor learns params, and the work goes on."""
    async with api(url, access=STRANGERS) as here:
        one = await handed(here, run_params=GIVEN)
        await one.begin()
        stolen = await one.begin(claim=OTHER)
        assert "has begun already" in problem_of(stolen, 409)["detail"]
        assert "hunter2" not in stolen.text
        assert (await one.ask("alive", TICKET)).status_code == 404
        assert (await one.ask("alive", CLAIM)).status_code == 200


@patiently
async def test_a_claim_opens_its_own_attempt_only(url: str) -> None:
    """S42: neither another run's attempt, nor the next attempt of its own run."""
    async with api(url, access=STRANGERS) as here:
        one, two = await handed(here), await handed(here, "b")
        await one.begin(CLAIM)
        await two.begin(OTHER)
        assert (await one.ask("finish", CLAIM, {"outcome": "failed"}, two.reference)).status_code == 404
        await one.world.end(one.lease, LeaseExpired())
        (again,) = await one.world.lease(offers=WATCHER)
        next_ = await intended(here, one.world, again, ticket=OTHER)
        await next_.ask("begin", OTHER, {"claim": OTHER})
        for reference in (one.reference, next_.reference):
            answer = await one.ask("finish", CLAIM, {"outcome": "succeeded"}, reference)
            assert answer.status_code == 404
        assert (await one.world.run(one.lease.id)).state is RunState.RUNNING


@patiently
async def test_secrets_of_an_attempt_open_nothing_else(url: str) -> None:
    """B14: a ticket or a claim is no token, neither in the header nor to sign in."""
    async with api(url, access=STRANGERS) as here:
        one = await handed(here)
        await one.begin()
        for secret in (TICKET, CLAIM):
            for method, path in (("GET", "/runs"), ("GET", f"/runs/{one.lease.id}"), ("POST", "/runs")):
                problem_of(await here.ask(method, path, token=secret), 401)
            signed = await here.client.post("/session", json={"token": secret})
            problem_of(signed, 401)


@patiently
async def test_no_secret_at_all_is_told_what_is_needed() -> None:
    """401 with the name of the secret, before the body is read."""
    async with api(access=STRANGERS) as here:
        one = await handed(here)
        for move, secret in (("begin", "ticket"), ("alive", "claim"), ("report", "claim"), ("finish", "claim")):
            answer = await here.ask("POST", f"/attempts/{one.reference}/{move}", content=b"{not json")
            assert problem_of(answer, 401)["detail"].startswith(f"the {secret} of the attempt is needed")
            assert answer.headers["www-authenticate"].startswith("Bearer")
            basic = await here.ask(
                "POST", f"/attempts/{one.reference}/{move}", headers={"Authorization": "Basic x"}
            )
            problem_of(basic, 401)


@pytest.mark.parametrize(
    ("move", "body", "field"),
    [
        ("begin", {}, "claim"),
        ("begin", {"claim": "short"}, "claim"),
        ("begin", {"claim": "é" * 50}, "claim"),
        ("begin", {"claim": CLAIM, "more": 1}, "more"),
        ("finish", {"outcome": "lost"}, "outcome"),
        ("finish", {"outcome": "lease_expired"}, "outcome"),
        ("finish", {"outcome": "snoozed", "seconds": -1}, "seconds"),
        ("finish", {"outcome": "snoozed", "seconds": 10**12}, "seconds"),
        ("report", {"log": [{"stream": "out", "text": "x", "at": "yesterday"}]}, "log.0.at"),
        ("report", {"log": [{"stream": "out", "text": "x", "at": AT}] * 2_001}, "log"),
        ("report", {"steps": [{"name": "a" * 201, "state": "running"}]}, "steps.0.name"),
    ],
)
@patiently
async def test_bad_input_is_refused_and_changes_nothing(move: str, body: Any, field: str) -> None:
    """The problem names the field; a store or a watcher alone says that an attempt was lost."""
    async with api(access=STRANGERS) as here:
        one = await handed(here)
        if move != "begin":
            await one.begin()
        before = await one.record()
        secret = TICKET if move == "begin" else CLAIM
        assert problem_of(await one.ask(move, secret, body), 422)["field"] == field
        assert await one.record() == before
        assert (await one.world.insights.log(one.lease.id)).items == ()


@patiently
async def test_the_secrets_are_shown_to_no_person(url: str) -> None:
    """Neither a ticket, nor a claim, nor a digest of one is in what people read of the run."""
    async with api(url) as here:
        one = await handed(here)
        await one.begin()
        await one.world.store.finish([Finish(one.lease.id, one.lease.token, LeaseExpired())])
        shown = [await here.get(f"/runs/{one.lease.id}{part}") for part in ("", "/why", "/attempts", "/steps")]
        text = json.dumps(shown)
        assert not [secret for secret in (TICKET, CLAIM, digest(TICKET), digest(CLAIM)) if secret in text]
