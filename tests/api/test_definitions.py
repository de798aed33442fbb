"""`/definitions`: what an editor of job files asks."""

from tickwise.core.definition import JobDefinition
from tickwise.stores.access_records import AccessRole

from ..support.api import NIGHTLY, api, problem_of
from ..support.app import patiently


@patiently
async def test_a_text_is_read_as_a_job_file_is() -> None:
    """All mistakes are told with their places; a text without any gives its fields and its next times."""
    async with api() as here:
        wrong = "schedule: 0 25 * * *\ncommand: ls\njitter: soon\n"
        found = await here.post("/definitions:check", {"yaml": wrong, "name": "nightly"})
        assert [(one["line"], one["column"], one["field"]) for one in found["problems"]] == [
            (1, 13, "schedule"), (3, 9, "jitter"),
        ]  # fmt: skip
        assert (found["definition"], found["schedules"]) == (None, [])
        right = "name: nightly\nschedule: 30 2 * * *\ntimezone: Europe/Berlin\ncommand: ls -l\n"
        found = await here.post("/definitions:check", {"yaml": right})
        assert (found["problems"], found["name"]) == ([], "nightly")
        assert found["definition"] == {
            "schedule": "30 2 * * *", "timezone": "Europe/Berlin", "command": ["ls", "-l"],
        }  # fmt: skip
        [planned] = found["schedules"]
        assert (planned["means"], len(planned["next"])) == ("At 02:30, every day, Europe/Berlin", 10)
        assert "does not exist" in planned["warnings"][0]
        made = await here.post("/schedules", {"name": found["name"], **found["definition"]})
        assert made["definition"] == found["definition"]


@patiently
async def test_a_text_is_one_job() -> None:
    """No job, two of them, or one without a name are mistakes of the text."""
    async with api() as here:
        for text, problem in (
            ("# later", "no job yet"),
            ("name: a\n---\nname: b\n", "more than one job"),
            ("a: [", ""),
        ):
            found = await here.post("/definitions:check", {"yaml": text})
            assert problem in found["problems"][0]["text"]
        [unnamed] = (await here.post("/definitions:check", {"yaml": "command: ls"}))["problems"]
        assert unnamed["field"] == "name"


@patiently
async def test_the_schema_is_there_for_editors() -> None:
    """A viewer may read which fields a job has."""
    async with api() as here:
        viewer = await here.token(AccessRole.VIEWER)
        schema = await here.get("/definitions/schema", token=viewer)
        assert {"schedule", "steps", "overlap"} <= set(schema["properties"])


@patiently
async def test_a_text_is_tried_once() -> None:
    """It runs as NAME.try, by hand and at once; the job itself and its schedules stay as they are (S30)."""
    async with api() as here:
        known = await here.post("/schedules", {**NIGHTLY, "env": {"API_KEY": "abc"}})
        edited = {"name": "nightly", **known["definition"], "command": "echo other"}
        run = await here.post("/definitions:try", edited)
        assert (run["job"], run["state"], run["trigger"]) == ("nightly.try", "queued", "manual")
        tried = await (await here.store()).insights.job("nightly.try")
        assert tried is not None
        assert (tried.schedules, tried.definition.env["API_KEY"]) == ((), "abc")
        assert (await here.get("/schedules/nightly"))["definition"] == known["definition"]
        beside = problem_of(await here.ask("POST", "/definitions:try", json=edited), 409)
        assert run["id"] in beside["detail"]
        await here.post(f"/runs/{run['id']}:cancel")
        again = await here.post("/definitions:try", {"name": "nightly", "command": "echo third"})
        assert (await here.get(f"/runs/{again['id']}"))["job"] == "nightly.try"
        assert (await here.get("/jobs/nightly.try"))["definition"]["command"] == ["echo", "third"]


@patiently
async def test_what_cannot_be_tried() -> None:
    """A text with mistakes, without a name, or of a job whose try belongs to somebody else runs nothing."""
    async with api() as here:
        mistake = problem_of(await here.ask("POST", "/definitions:try", json={"name": "a", "comand": "ls"}), 422)
        assert "did you mean command?" in mistake["detail"]
        nameless = problem_of(await here.ask("POST", "/definitions:try", json={"command": "ls"}), 422)
        assert nameless["field"] == "name"
        too_long = problem_of(
            await here.ask("POST", "/definitions:try", json={"name": "a" * 98, "command": "ls"}), 422
        )
        assert "shorten" in too_long["detail"]
        await (await here.store()).define(JobDefinition("a.try"), "app:app")
        taken = problem_of(await here.ask("POST", "/definitions:try", json={"name": "a", "command": "ls"}), 409)
        assert "a.try is a job of app:app" in taken["detail"]
        assert (await here.get("/runs"))["items"] == []


@patiently
async def test_a_job_without_a_schedule_is_deleted() -> None:
    """The API deletes what it has defined, and nothing that others have (S50)."""
    async with api() as here:
        await here.post("/definitions:try", {"name": "a", "command": "ls"})
        assert (await here.ask("DELETE", "/jobs/a.try")).status_code == 204
        problem_of(await here.ask("GET", "/jobs/a.try"), 404)
        await (await here.store()).define(JobDefinition("theirs"), "app:app")
        refused = problem_of(await here.ask("DELETE", "/jobs/theirs"), 409)
        assert "theirs was defined by app:app" in refused["detail"]
