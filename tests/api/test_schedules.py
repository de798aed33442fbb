"""Schedules: made, listed, changed, acted upon and deleted."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tickwise.core.mask import MASK
from tickwise.core.settle import Failed, Succeeded
from tickwise.stores.access_records import AccessRole

from ..support.api import NIGHTLY, Api, api, problem_of
from ..support.app import patiently

HOURLY = {"name": "hourly", "schedule": "0 * * * *", "command": "echo hi", "labels": {"team": "data"}}


async def _fill(here: Api) -> None:
    await here.post("/schedules", NIGHTLY)
    await here.post("/schedules", HOURLY)


@patiently
async def test_a_list_tells_how_the_last_runs_went(url: str) -> None:
    """Of each the states of its last runs, the oldest first, and how late the last began."""
    async with api(url) as here:
        await here.post("/schedules", {**NIGHTLY, "schedule": "0 * * * *"})
        world = await here.world()
        for late, outcome in ((0, Failed()), (2, Succeeded())):
            here.clock.advance(3_600)
            await world.tick()
            here.clock.advance(late)
            await world.end(await world.start(), outcome)
        (one,) = (await here.get("/schedules"))["items"]
        assert (one["recent"], one["late_ms"]) == (["failed", "succeeded"], 2_000)


@patiently
async def test_a_schedule_is_made_from_the_fields_of_a_job_file(url: str) -> None:
    """The answer holds the schedule and its definition, and says where it is."""
    async with api(url) as here:
        answer = await here.ask("POST", "/schedules", json={**NIGHTLY, "timezone": "Europe/Berlin"})
        assert answer.status_code == 201
        assert answer.headers["location"] == "/api/v1/schedules/nightly"
        made = answer.json()
        (warning,) = made.pop("warnings")
        assert warning.endswith("Start one: tickwise worker --allow-commands --queues default")
        assert {**made, "warnings": []} == await here.get("/schedules/nightly")
        assert made["next_run_at"] == "2026-01-01T02:00:00Z"
        assert made["definition"]["command"] == ["echo", "hi"]
        assert (made["source"], made["means"]) == ("api", "At 03:00, every day, Europe/Berlin")


@patiently
async def test_of_many_creates_at_once_one_is_made(url: str) -> None:
    """A create never becomes a change of what another has just made."""
    async with api(url) as here:
        bodies = [{**NIGHTLY, "schedule": f"{minute} 3 * * *"} for minute in range(6)]
        answers = await asyncio.gather(*(here.ask("POST", "/schedules", json=body) for body in bodies))
        assert sorted(answer.status_code for answer in answers) == [201] + [409] * 5
        made = next(answer for answer in answers if answer.status_code == 201)
        assert (await here.get("/schedules/nightly"))["times"] == made.json()["times"]


@patiently
async def test_what_two_servers_add_to_a_job_at_once_is_not_lost(tmp_path: Path) -> None:
    """Who wrote over an older job is refused, and told to try again; whoever is told that it was made finds it."""
    url = f"sqlite:///{tmp_path}/shared.db"
    async with api(url) as one, api(url) as other:
        await one.post("/schedules", NIGHTLY)
        added = [{"name": f"at-{hour}", "job": "nightly", "schedule": f"0 {hour} * * *"} for hour in range(8)]
        asked = ((one, other)[n % 2].ask("POST", "/schedules", json=body) for n, body in enumerate(added))
        answers = await asyncio.gather(*asked)
        made = {answer.json()["name"] for answer in answers if answer.status_code == 201}
        refused = [answer for answer in answers if answer.status_code != 201]
        assert made
        assert refused
        assert all("nightly has been changed meanwhile" in problem_of(each, 409)["detail"] for each in refused)
        assert {each["name"] for each in (await other.get("/schedules"))["items"]} == {"nightly", *made}


@patiently
async def test_a_second_of_the_same_name_is_a_conflict(url: str) -> None:
    """What is there is not written over by a create."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        problem_of(await here.ask("POST", "/schedules", json={**NIGHTLY, "schedule": "0 4 * * *"}), 409)
        assert (await here.get("/schedules/nightly"))["times"] == "0 3 * * *"


WRONG: list[tuple[dict[str, Any], str, int | None]] = [
    ({"schedule": "0 25 * * *"}, "schedule", 2),
    ({"schedule": ["0 1 * * *", {"cron": "0 1 32 * *"}]}, "schedule.1.cron", 4),
    ({"schedule": None}, "schedule", None),
    ({"comand": "x"}, "comand", None),
    ({"overlap": "sometimes"}, "overlap", None),
    ({"timezone": "Europe/Berln"}, "timezone", None),
    ({"steps": [{"name": "a", "command": "x", "depends": ["b"]}], "command": None}, "steps.0.depends.0", None),
]


@pytest.mark.parametrize(("fields", "field", "position"), WRONG)
@patiently
async def test_a_wrong_definition_names_the_field_and_the_position(
    fields: dict[str, Any], field: str, position: int | None
) -> None:
    """A create or a change that cannot be used says where it is wrong, and changes nothing."""
    async with api() as here:
        found = problem_of(await here.ask("POST", "/schedules", json={**NIGHTLY, **fields}), 422)
        assert (found.get("field"), found.get("position")) == (field, position)
        assert (await here.get("/schedules"))["items"] == []
        await here.post("/schedules", NIGHTLY)
        before = await here.get("/schedules/nightly")
        found = problem_of(await here.ask("PATCH", "/schedules/nightly", json=fields), 422)
        assert (found.get("field"), found.get("position")) == (field, position)
        assert await here.get("/schedules/nightly") == before


@patiently
async def test_an_unknown_job_is_refused_with_the_nearest_name(url: str) -> None:
    """A schedule or a run for a job that is not there names the job that was probably meant."""
    async with api(url) as here:
        await _fill(here)
        more = {"name": "more", "job": "nihgtly", "schedule": "0 4 * * *"}
        for path, body in (("/schedules", more), ("/runs", {"job": "nihgtly"})):
            found = problem_of(await here.ask("POST", path, json=body), 422)
            assert (found["field"], found["nearest"]) == ("job", "nightly")


@patiently
async def test_a_job_can_have_one_more_schedule(url: str) -> None:
    """With `job`, a schedule is added to a job of the API, changed by itself, and deleted without the job."""
    async with api(url) as here:
        await _fill(here)
        await here.post("/schedules", {"name": "again", "job": "nightly", "schedule": "0 15 * * *"})
        assert (await here.get("/jobs/nightly"))["schedules"] == ["again", "nightly"]
        assert (await here.get("/schedules/again"))["definition"]["schedule"] == "0 15 * * *"
        assert (await here.get("/schedules/nightly"))["definition"]["schedule"] == "0 3 * * *"
        wrong = {"name": "third", "job": "nightly", "schedule": "0 1 * * *", "command": "rm"}
        assert problem_of(await here.ask("POST", "/schedules", json=wrong), 422)["field"] == "command"
        changed = await here.ask("PATCH", "/schedules/again", json={"schedule": "30 15 * * *"})
        assert changed.json()["next_run_at"] == "2026-01-01T15:30:00Z"
        assert (await here.get("/schedules/nightly"))["times"] == "0 3 * * *"
        assert (await here.ask("DELETE", "/schedules/again")).status_code == 204
        assert (await here.get("/jobs/nightly"))["schedules"] == ["nightly"]


@patiently
async def test_what_another_source_wrote_is_not_changed(url: str) -> None:
    """S50: to change or delete what code has declared is a conflict that names the source; to pause is not."""
    async with api(url) as here:
        here.tickwise.job("0 * * * *", name="coded")(lambda: None)
        for method in ("PATCH", "DELETE"):
            body = {"schedule": "0 5 * * *"} if method == "PATCH" else None
            found = problem_of(await here.ask(method, "/schedules/coded", json=body), 409)
            assert "app:app" in found["detail"]
        assert (await here.post("/schedules/coded:pause", {"reason": "why not"}))["paused"]["by"] == "inside"


FILTERS = [
    ("job=nightly", ["nightly"]), ("text=OUR", ["hourly"]), ("text=%25", []), ("label=team", ["hourly"]),
    ("label=team%3Ddata", ["hourly"]), ("label=team%3Dother", []), ("due_before=2026-01-01T02:00:00Z", ["hourly"]),
    ("source=api", ["hourly", "nightly"]), ("source=app", []), ("paused=false", ["hourly", "nightly"]),
]  # fmt: skip


@patiently
async def test_schedules_are_found_by_job_text_label_pause_and_time(url: str) -> None:
    """Each filter leaves what fits."""
    async with api(url) as here:
        await _fill(here)
        for query, names in FILTERS:
            found = await here.get(f"/schedules?{query}")
            assert [one["name"] for one in found["items"]] == names, query
        await here.post("/schedules/nightly:pause")
        assert [one["name"] for one in (await here.get("/schedules?paused=true"))["items"]] == ["nightly"]


@patiently
async def test_pages_are_stable(url: str) -> None:
    """Following `next` meets each schedule once, although others come and go meanwhile."""
    async with api(url) as here:
        for number in range(7):
            await here.post("/schedules", {**NIGHTLY, "name": f"s{number}"})
        met, after = [], ""
        while True:
            answer = await here.ask("GET", f"/schedules?limit=2{after}")
            page = answer.json()
            met += [one["name"] for one in page["items"]]
            if page["next"] is None:
                break
            assert f"after={page['next']}" in answer.headers["link"]
            after = f"&after={page['next']}"
            await here.ask("DELETE", "/schedules/s0")
            await here.ask("POST", "/schedules", json={**NIGHTLY, "name": "a-new-one"})
        assert met == [f"s{number}" for number in range(7)]


@patiently
async def test_changed_times_give_a_new_next_time(url: str) -> None:
    """A patch is merged over what is stored: what it does not name stays, null removes."""
    async with api(url) as here:
        await here.post("/schedules", {**NIGHTLY, "timezone": "Europe/Berlin", "jitter": "5m", "overlap": "allow"})
        patch = {"schedule": "30 4 * * *", "jitter": None, "params": {"limit": 3}}
        answer = await here.ask("PATCH", "/schedules/nightly", json=patch)
        found = answer.json()
        assert found["next_run_at"] == "2026-01-01T03:30:00Z"
        definition = found["definition"]
        assert definition["params"] == {"table": "orders", "limit": 3}
        assert (definition["overlap"], definition["timezone"]) == ("allow", "Europe/Berlin")
        assert "jitter" not in definition


TIMES: list[tuple[object, object, object]] = [
    ({"every": "90s", "offset": "30s"}, {"every": "5m"}, {"every": "5m"}),
    ({"every": "90s"}, "0 4 * * *", "0 4 * * *"),
    ("0 4 * * *", {"start": "0 5 * * *", "stop": "0 6 * * *"}, {"start": "0 5 * * *", "stop": "0 6 * * *"}),
    ({"start": "0 5 * * *", "stop": "0 6 * * *"}, {"stop": None}, "0 5 * * *"),
    ({"start": "0 5 * * *", "stop": "0 6 * * *"}, {"every": "5m"}, {"every": "5m"}),
]


@pytest.mark.parametrize(("stored", "patch", "result"), TIMES)
@patiently
async def test_times_are_replaced_as_a_whole_and_merged_by_kind(
    stored: object, patch: object, result: object
) -> None:
    """S21: start, stop and restart can be changed one by one; one entry takes the place of another."""
    async with api() as here:
        await here.post("/schedules", {**NIGHTLY, "schedule": stored})
        changed = await here.ask("PATCH", "/schedules/nightly", json={"schedule": patch})
        assert changed.json()["definition"]["schedule"] == result


@patiently
async def test_a_name_is_not_patched() -> None:
    """S26: another name is another schedule."""
    async with api() as here:
        await here.post("/schedules", NIGHTLY)
        found = problem_of(await here.ask("PATCH", "/schedules/nightly", json={"name": "other"}), 422)
        assert found["field"] == "name"


@patiently
async def test_secrets_are_hidden_and_survive_being_sent_back(url: str) -> None:
    """Values of variables and headers are shown to nobody, the audit included; their mask changes nothing."""
    async with api(url) as here:
        http = {"url": "https://user:hunter2@example.com/x", "headers": {"Authorization": "hunter2"}}
        body = {"name": "caller", "schedule": "0 * * * *", "http": http, "env": {"KEY": "hunter2"}}
        made = await here.post("/schedules", {**body, "params": {"password": "hunter2"}})
        assert made["definition"]["env"] == {"KEY": MASK}
        await here.ask("PATCH", "/schedules/caller", json={**made["definition"], "description": "still the same"})
        job = await (await here.store()).insights.job("caller")
        assert job is not None
        assert job.definition.env == {"KEY": "hunter2"}
        assert job.definition.params == {"password": "hunter2"}
        for path in ("/schedules/caller", "/jobs/caller", "/audit", "/schedules"):
            assert "hunter2" not in (await here.ask("GET", path)).text


STEPS = [
    {"name": "a", "command": ["true"], "env": {"KEY": "secret-a"}},
    {"name": "b", "http": {"url": "https://u:secret-b@example.com/x?api_key=secret-c", "body": "secret-d"}},
]


@patiently
async def test_hidden_values_belong_to_their_step(url: str) -> None:
    """B7: steps that come back in another order, or with a new one between, keep their own secrets."""
    async with api(url) as here:
        made = await here.post("/schedules", {"name": "steps", "schedule": "0 * * * *", "steps": STEPS})
        shown = made["definition"]["steps"]
        assert "secret-" not in str(shown)
        steps = [shown[1], {"name": "new", "command": ["true"]}, shown[0]]
        assert (await here.ask("PATCH", "/schedules/steps", json={"steps": steps})).status_code == 200
        job = await (await here.store()).insights.job("steps")
        assert job is not None
        b, _, a = job.definition.steps
        assert (a.env, b.action.url, b.action.body) == (  # type: ignore[union-attr]
            {"KEY": "secret-a"}, "https://u:secret-b@example.com/x?api_key=secret-c", "secret-d",
        )  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        {"env": {"KEY": MASK}},
        {"steps": [{"name": "new", "command": ["true"], "env": {"KEY": MASK}}]},
        {"steps": [{"name": "b", "http": "https://u:…@example.com/y"}]},
    ],
)
@patiently
async def test_a_mask_without_a_stored_value_is_refused(wrong: dict[str, object]) -> None:
    """B7: it is no value of its own, neither in a change nor in a new definition."""
    async with api() as here:
        await here.post("/schedules", {"name": "steps", "schedule": "0 * * * *", "steps": STEPS})
        found = problem_of(await here.ask("PATCH", "/schedules/steps", json=wrong), 422)
        assert "stands for no stored value" in found["detail"]
        new = {"name": "other", "schedule": "0 * * * *", "command": "true", **wrong}
        problem_of(await here.ask("POST", "/schedules", json=new), 422)


@patiently
async def test_if_match_lets_one_of_two_win(url: str) -> None:
    """Two changes of the version that both have seen: one is made, the other is told to look again."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        tag = (await here.ask("GET", "/schedules/nightly")).headers["etag"]
        patches = [{"schedule": f"{minute} 5 * * *"} for minute in range(8)]
        answers = await asyncio.gather(
            *(here.ask("PATCH", "/schedules/nightly", json=one, headers={"If-Match": tag}) for one in patches)
        )
        assert sorted(answer.status_code for answer in answers) == [200] + [412] * 7
        won = next(answer for answer in answers if answer.status_code == 200)
        assert (await here.get("/schedules/nightly"))["times"] == won.json()["times"]
        assert won.headers["etag"] != tag
        problem_of(await here.ask("DELETE", "/schedules/nightly", headers={"If-Match": tag}), 412)
        fresh = won.headers["etag"]
        assert (await here.ask("DELETE", "/schedules/nightly", headers={"If-Match": fresh})).status_code == 204


@patiently
async def test_an_edit_that_another_overtakes_is_refused(url: str) -> None:
    """Without If-Match, too, of several edits of one version only one is made; the others are told so."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        patches = [{"schedule": f"{minute} 5 * * *"} for minute in range(8)]
        answers = await asyncio.gather(*(here.ask("PATCH", "/schedules/nightly", json=one) for one in patches))
        assert {answer.status_code for answer in answers} <= {200, 409}
        done = [answer.json()["times"] for answer in answers if answer.status_code == 200]
        assert (await here.get("/schedules/nightly"))["times"] in done
        changes = [row for row in (await here.get("/audit"))["items"] if row["action"] == "schedule.change"]
        assert len(changes) == len(done)


class _Counted:
    """A store whose operations are noted by name."""

    def __init__(self, inner: Any, names: list[str]) -> None:
        self._inner = inner
        self._names = names

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name in ("insights", "access"):
            return _Counted(found, self._names)

        async def call(*arguments: Any, **named: Any) -> Any:
            self._names.append(name)
            return await found(*arguments, **named)

        return call


@patiently
async def test_an_edit_reads_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads the schedule and its job, writes over the version that it read, and reads what has come of it."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        token = await here.token(AccessRole.ADMIN)
        names: list[str] = []
        opened = await here.tickwise.opened()
        monkeypatch.setattr(opened, "store", _Counted(opened.store, names))
        answer = await here.ask("PATCH", "/schedules/nightly", json={"schedule": "0 4 * * *"}, token=token)
        assert answer.json()["times"] == "0 4 * * *"
        before, after = ["schedule", "job", "schedules"], ["schedule", "job"]
        assert names == ["token", *before, "define", "record", *after]


@patiently
async def test_a_schedule_is_adopted_by_the_store_or_the_nodes(url: str) -> None:
    """Who finds its slots is changed for one or for many; a dry run only says so, and the audit keeps the rest."""
    async with api(url) as here:
        await _fill(here)
        dry = {"ticking": "local", "dry_run": True}
        moved = {"schedule": "nightly", "was": "store", "now": "local"}
        assert await here.post("/schedules/nightly:adopt", dry) == moved
        assert await here.post("/schedules/nightly:adopt", {"ticking": "local"}) == moved
        many = {"ticking": "local", "names": ["hourly", "hourly", "nobody"]}
        done, refused = (await here.post("/schedules:adopt", many))["items"]
        assert (done["name"], done["done"], done["was"], done["now"]) == ("hourly", True, "store", "local")
        assert (refused["name"], refused["done"], refused["problem"]["status"]) == ("nobody", False, 404)
        scoped = await here.token(AccessRole.OPERATOR, "hour*")
        back = await here.post("/schedules:adopt", {"ticking": "store"}, token=scoped)
        assert [one["name"] for one in back["items"]] == ["hourly"]
        row = (await here.get("/audit?subject=hourly"))["items"][0]
        assert (row["who"], row["action"]) == ("operator 1", "schedule.adopt")
        assert (row["before"], row["after"]) == ({"ticking": "local"}, {"ticking": "store"})
        problem_of(await here.ask("POST", "/schedules/nightly:adopt", json={"ticking": "moon"}), 422)


@patiently
async def test_a_known_version_is_not_sent_again(url: str) -> None:
    """If-None-Match gets 304 until something changes; a change that changes nothing is no change (S28)."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        tag = (await here.ask("GET", "/schedules/nightly")).headers["etag"]
        known = {"If-None-Match": tag}
        assert (await here.ask("GET", "/schedules/nightly", headers=known)).status_code == 304
        for _ in range(2):
            same = await here.ask("PATCH", "/schedules/nightly", json={"schedule": "0 3 * * *"})
            assert same.headers["etag"] == tag
        here.clock.advance(1)
        await here.post("/schedules/nightly:pause")
        assert (await here.ask("GET", "/schedules/nightly", headers=known)).status_code == 200


@patiently
async def test_a_create_with_a_key_is_done_once(url: str) -> None:
    """Of two at once one creates and the other is told to wait; afterwards the key gives the first answer."""
    async with api(url) as here:
        key = {"Idempotency-Key": "abc"}
        answers = await asyncio.gather(
            *(here.ask("POST", "/schedules", json=NIGHTLY, headers=key) for _ in range(4))
        )
        statuses = [answer.status_code for answer in answers]
        assert statuses.count(201) >= 1
        assert set(statuses) <= {201, 409}
        made = next(answer for answer in answers if answer.status_code == 201)
        again = await here.ask("POST", "/schedules", json=NIGHTLY, headers=key)
        assert (again.status_code, again.json()) == (201, made.json())
        assert again.headers["idempotent-replayed"] == "true"
        assert again.headers["location"] == made.headers["location"]
        other = await here.ask("POST", "/schedules", json={**NIGHTLY, "name": "x"}, headers=key)
        assert "another request" in problem_of(other, 422)["detail"]


@patiently
async def test_a_refusal_is_an_answer_too(url: str) -> None:
    """A create that was refused is refused again under its key, and nothing hangs."""
    async with api(url) as here:
        key = {"Idempotency-Key": "abc"}
        for _ in range(2):
            problem_of(await here.ask("POST", "/runs", json={"job": "nobody"}, headers=key), 422)


@patiently
async def test_runs_with_one_key_are_one(url: str) -> None:
    """Twenty triggers at once with one key make one run."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        key = {"Idempotency-Key": "go"}
        await asyncio.gather(*(here.ask("POST", "/schedules/nightly:trigger", headers=key) for _ in range(20)))
        assert len((await here.get("/runs"))["items"]) == 1


@patiently
async def test_deleting_the_last_schedule_deletes_the_job(url: str) -> None:
    """S23: queued runs are cancelled, and the name is free."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        run = await here.post("/runs", {"job": "nightly"})
        assert (await here.ask("DELETE", "/schedules/nightly")).status_code == 204
        problem_of(await here.ask("GET", "/schedules/nightly"), 404)
        problem_of(await here.ask("GET", "/jobs/nightly"), 404)
        assert (await here.get(f"/runs/{run['id']}"))["state"] == "cancelled"
        await here.post("/schedules", NIGHTLY)
