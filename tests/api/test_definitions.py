"""`/definitions`: what an editor of job files asks."""

from tickwise.stores.access_records import AccessRole

from ..support.api import api
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
