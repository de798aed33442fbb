"""`/calendars`, and schedules on their days."""

from ..support.api import NIGHTLY, api, problem_of
from ..support.app import patiently

OFFICE = {"weekdays": ["MON-FRI"], "remove": [{"dates": ["2026-01-02"]}], "description": "Work"}
DAILY = {**NIGHTLY, "name": "daily", "schedule": "0 9 * * *", "timezone": "UTC", "days": {"in": "office"}}


@patiently
async def test_a_calendar_is_written_shown_and_removed(url: str) -> None:
    """S60: with its days of a year, who uses it, and an entry of the audit for each change."""
    async with api(url) as here:
        made = (await here.ask("PUT", "/calendars/office", json=OFFICE)).json()
        assert (made["name"], made["source"], made["definition"], made["used_by"], made["settled"]) == (
            "office", "api", OFFICE, [], True
        )  # fmt: skip
        assert (made["first"], made["last"], made["description"]) == ("2025-01-01", "2036-12-31", "Work")
        assert [one["name"] for one in (await here.get("/calendars"))["items"]] == ["office"]
        year = await here.get("/calendars/office/days?year=2027")
        assert (year["year"], len(year["days"]), year["days"][0]) == (2027, 261, "2027-01-01")
        shown = await here.post(
            "/calendars:preview", {"definition": {"holidays": {"country": "FR"}}, "year": 2026}
        )
        assert shown["names"]["2026-07-14"]
        assert [one["name"] for one in (await here.get("/calendars"))["items"]] == ["office"]
        await here.post("/schedules", DAILY)
        assert (await here.get("/calendars/office"))["used_by"] == ["daily"]
        in_use = problem_of(await here.ask("DELETE", "/calendars/office"), 409)
        assert "the calendar office is used by daily" in in_use["detail"]
        await here.ask("DELETE", "/schedules/daily")
        assert (await here.ask("POST", "/calendars/office:expand")).json()["version"] == made["version"]
        assert (await here.ask("DELETE", "/calendars/office")).status_code == 204
        problem_of(await here.ask("GET", "/calendars/office"), 404)
        actions = [one["action"] for one in (await here.get("/audit?subject=office"))["items"]]
        assert actions == ["calendar.remove", "calendar.expand", "calendar.put"]


@patiently
async def test_a_calendar_that_cannot_be_used_is_refused(url: str) -> None:
    """S60: with the field and the nearest word; nothing is written."""
    async with api(url) as here:
        wrong = problem_of(await here.ask("PUT", "/calendars/office", json={"weekday": ["MON"]}), 422)
        assert (wrong["field"], wrong["nearest"]) == ("weekday", "weekdays")
        wrong = problem_of(await here.ask("PUT", "/calendars/office", json={"holidays": {"country": "ZZ"}}), 422)
        assert wrong["field"] == "holidays"
        problem_of(await here.ask("PUT", "/calendars/office", json=[1]), 422)
        problem_of(await here.ask("GET", "/calendars/office/days?year=0"), 422)
        assert (await here.get("/calendars"))["items"] == []


@patiently
async def test_a_schedule_on_the_days_of_a_calendar(url: str) -> None:
    """S61: made, read back, changed and explained; simulation and editor know its days."""
    async with api(url) as here:
        unknown = problem_of(await here.ask("POST", "/schedules", json=DAILY), 422)
        assert (unknown["field"], "there is no calendar 'office'" in unknown["detail"]) == ("days", True)
        await here.ask("PUT", "/calendars/office", json=OFFICE)
        made = await here.post("/schedules", DAILY)
        assert made["next_run_at"] == "2026-01-01T09:00:00Z"
        assert made["definition"]["days"] == {"in": "office"}
        changed = (
            await here.ask("PATCH", "/schedules/daily", json={"roll": "back", "schedule": "0 9 2 * *"})
        ).json()
        assert (changed["definition"]["roll"], changed["next_run_at"]) == ("back", "2026-01-01T09:00:00Z")
        back = {"roll": None, "schedule": "0 9 * * *"}
        assert "roll" not in (await here.ask("PATCH", "/schedules/daily", json=back)).json()["definition"]
        other = (await here.ask("PATCH", "/schedules/daily", json={"days": {"not_in": "office"}})).json()
        assert (other["definition"]["days"], other["next_run_at"]) == (
            {"not_in": "office"},
            "2026-01-02T09:00:00Z",
        )
        await here.ask("PATCH", "/schedules/daily", json={"days": {"in": "office"}})
        why = await here.get("/schedules/daily/why?slot=2026-01-02T09:00:00Z")
        assert (why["reason"], why["text"]) == ("day_left_out", "Fri 2026-01-02 is not in the calendar office")
        window = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-08T00:00:00Z"}
        for what in ({"schedule": "daily"}, {"definition": {**DAILY, "name": "other"}}):
            played = (await here.post("/simulate", {**window, **what}))["items"]
            assert [one["slot"][8:10] for one in played] == ["01", "05", "06", "07"]
        here.clock.advance(3 * 86_400)
        past = {"start": "2026-01-01T00:00:00Z"}
        wrong = await here.ask(
            "POST", "/schedules/daily/replay", json={**past, "changes": {"days": {"in": "offise"}}}
        )
        assert problem_of(wrong, 422)["nearest"] == "office"
        await here.post("/schedules/daily/replay", {**past, "changes": {"days": {"not_in": "office"}}})
        text = 'name: x\nschedule: "0 9 * * *"\ndays: {in: office}\ncommand: "true"\n'
        checked = await here.post("/definitions:check", {"yaml": text})
        (planned,) = checked["schedules"]
        assert [one[8:10] for one in planned["next"][:3]] == ["05", "06", "07"]
        checked = await here.post("/definitions:check", {"yaml": text.replace("office", "ofice")})
        assert [(one["field"], one["nearest"]) for one in checked["problems"]] == [("days", "office")]
