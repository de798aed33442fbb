"""What people who run the place do: move, reset, delete, limit, let in and lock out, and stop everything."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from ..support.browser import Site, Visitor, write_job
from ..support.tickwise_processes import Nest
from .test_actions import confirm
from .test_pages import WICKED


@pytest.fixture(scope="module")
def site(nest: Nest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One of their own: whoever pauses everything disturbs others."""
    with Site(nest, tmp_path_factory.mktemp("managed")) as site:
        yield site


def dialog_button(page: Page, opener: str, answer: str) -> None:
    page.get_by_role("button", name=opener, exact=True).click()
    confirm(page, answer)


def test_move_the_next_fire(visitor: Visitor, site: Site) -> None:
    """It fires after the while that was asked for, and the page says so (S31)."""
    page = visitor.open("schedules/rare")
    page.get_by_role("button", name="Reschedule").click()
    page.get_by_label("Or after a delay").fill("45m")
    confirm(page, "Move")
    expect(page.locator(".facts").first).to_contain_text("Moved to")
    moved = datetime.fromisoformat(site.api("GET", "schedules/rare")["moved_to"])
    assert moved - datetime.now(UTC) < timedelta(minutes=46)


def test_pause_until_a_time(visitor: Visitor, site: Site) -> None:
    """The page says when a pause ends by itself; a time that has passed is refused (S66)."""
    visitor.expects(422)
    page = visitor.open("schedules/rare")
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_label("Until").fill("2020-01-01 00:00")
    page.get_by_role("dialog").get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("until: ")
    page.get_by_label("Until").fill("2h")
    confirm(page, "Pause")
    expect(page.locator(".warning")).to_contain_text("Resumes in")
    end = datetime.fromisoformat(site.api("GET", "schedules/rare")["paused"]["until"])
    assert timedelta(minutes=119) < end - datetime.now(UTC) <= timedelta(hours=2)
    dialog_button(page, "Resume", "Resume")
    expect(page.locator(".warning")).to_have_count(0)


def test_skip_a_slot_to_come(visitor: Visitor, site: Site) -> None:
    """A slot to come is marked, stands on the page, and runs after all if that is taken back (S66)."""
    site.api("POST", "schedules", {"name": "hourly", "schedule": {"every": "1h"}, "command": "true"}, admin=True)
    page = visitor.open("schedules/hourly?hours=24")
    page.get_by_role("slider").focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    panel = page.get_by_role("dialog", name="Slots of hourly")
    panel.get_by_role("button", name="Skip this slot").click()
    page.get_by_label("Reason").fill("the shop is closed")
    page.get_by_role("button", name="Skip the slot").click()
    expect(page.get_by_role("list", name="Slots to skip")).to_contain_text("by ops: the shop is closed")
    expect(panel).to_contain_text("will be skipped by hand")
    [mark] = site.api("GET", "schedules/hourly")["skips"]
    assert datetime.fromisoformat(mark["slot"]) > datetime.now(UTC)
    panel.get_by_role("button", name="Let it run").click()
    expect(panel.get_by_role("button", name="Skip this slot")).to_be_visible()
    expect(page.get_by_role("list", name="Slots to skip")).to_have_count(0)
    assert site.api("GET", "schedules/hourly")["skips"] == []


def test_drop_the_backlog(visitor: Visitor, site: Site) -> None:
    """After a question it goes on from now, and the page says so (S4)."""
    before = site.api("GET", "schedules/sleeper")["cursor"]
    page = visitor.open("schedules/sleeper")
    dialog_button(page, "Reset", "Drop the backlog")
    expect(page.get_by_role("status").filter(has_text="sleeper continues from now.")).to_be_visible()
    assert site.api("GET", "schedules/sleeper")["cursor"] > before


def test_a_template_and_a_delete(visitor: Visitor, site: Site) -> None:
    """A template is offered for the times; what was made here goes after a question."""
    page = visitor.open("create", token=site.admin_token)
    write_job(page, "name: short-lived\ncommand: echo made\nschedule: ")
    page.keyboard.press("Control+End")
    page.keyboard.press("Control+Space")
    page.get_by_role("option").filter(has_text="at 9:00, Monday to Friday").click()
    expect(page.locator(".means")).to_contain_text("At 09:00")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("short-lived")
    dialog_button(page, "Delete", "Delete")
    expect(page.get_by_role("heading", level=1)).to_have_text("Schedules")
    expect(page.get_by_role("link", name="short-lived")).to_have_count(0)
    assert site.client.get("api/v1/schedules/short-lived").status_code == 404


def test_run_and_resume_many_at_once(visitor: Visitor, site: Site) -> None:
    """Those chosen run, and go on after a pause, together."""
    site.api("POST", "schedules:pause", {"names": ["rare", "mended"]})
    page = visitor.open("schedules?paused=true")
    for name in ("rare", "mended"):
        page.get_by_label(f"Select {name}").check()
    dialog_button(page, "Run now", "Run now")
    expect(page.get_by_role("status").filter(has_text="Started 2 of 2.")).to_be_visible()
    for name in ("rare", "mended"):
        expect(page.get_by_label(f"Select {name}")).not_to_be_checked()
        page.get_by_label(f"Select {name}").check()
    dialog_button(page, "Resume", "Resume")
    expect(page.get_by_text("No schedules match.")).to_be_visible()
    assert site.api("GET", "schedules/mended")["paused"] is None


def test_what_is_chosen_outlives_what_others_delete(visitor: Visitor, site: Site) -> None:
    """Only the one that is gone is no longer chosen."""
    site.api("POST", "schedules", {"name": "gone-soon", "schedule": "@yearly", "command": "echo"}, admin=True)
    page = visitor.open("schedules")
    for name in ("gone-soon", "rare"):
        page.get_by_label(f"Select {name}").check()
    headers = {"Authorization": f"Bearer {site.admin_token}"}
    assert site.client.delete("api/v1/schedules/gone-soon", headers=headers).is_success
    expect(page.get_by_label("Select gone-soon")).to_have_count(0)
    expect(page.get_by_role("group", name="Selected schedules")).to_contain_text("1 selected")
    expect(page.get_by_label("Select rare")).to_be_checked()


def test_a_backfill_is_followed_and_stopped(visitor: Visitor, site: Site) -> None:
    """One that takes long says how far it is, and ends on demand; what it has made stays (S32)."""
    end = datetime.now(UTC).replace(microsecond=0)
    asked = {"start": (end - timedelta(days=3)).isoformat(), "end": end.isoformat(), "overlap": "queue"}
    site.api("POST", "schedules/sleeper:backfill", asked)
    page = visitor.open("schedules/sleeper")
    panel = page.get_by_role("region", name="Backfill")
    expect(panel.get_by_role("status")).to_have_text("1 of 3 slots have a run, 2 are left.")
    dialog_button(page, "Stop backfill", "Stop backfill")
    expect(panel).to_have_count(0)
    assert site.api("GET", "schedules/sleeper/backfill") == {"active": False, "asked": 1, "made": 1, "left": 0}


def test_search_the_log(visitor: Visitor, site: Site) -> None:
    """Only the lines that hold the words are left."""
    page = visitor.open(f"runs/{site.run('wicked')}")
    expect(page.locator(".log-line")).to_have_count(2)
    page.get_by_label("Search the log").fill("nowhere to be found")
    expect(page.locator(".log-line")).to_have_count(0)
    page.get_by_label("Search the log").fill("onerror")
    expect(page.locator(".log-line")).to_have_count(2)


def test_ask_why(visitor: Visitor) -> None:
    """A slot in the list answers, beside the page, from the definition to what to do; Escape leads back."""
    page = visitor.open("schedules/steady")
    row = page.get_by_role("table", name="Slots").get_by_role("row").filter(has_text="ran").first
    row.get_by_role("button").click()
    why = page.get_by_role("dialog", name="Slots of steady")
    expect(why).to_contain_text("Every second")
    expect(why.locator(".badge")).to_have_text("succeeded")
    expect(why.get_by_role("link", name="Open the run")).to_be_visible()
    page.keyboard.press("Escape")
    expect(why).to_have_count(0)


def test_limit_a_queue(visitor: Visitor, site: Site) -> None:
    """The limit holds for the fleet, and is lifted by an empty field."""
    page = visitor.open("fleet", token=site.admin_token)
    for given, shown in (("2", "2"), ("", "no limit")):
        page.get_by_role("button", name="Limit", exact=True).click()
        page.get_by_label("Max running").fill(given)
        confirm(page, "Set")
        expect(page.get_by_role("table", name="Queues").get_by_role("cell").nth(4)).to_have_text(shown)


def test_pause_a_queue(visitor: Visitor, site: Site) -> None:
    """S66: nothing of it starts until somebody resumes; who, and why, stands beside it."""
    page = visitor.open("fleet", token=site.admin_token)
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_label("Reason").fill("repair")
    confirm(page, "Pause")
    row = page.get_by_role("table", name="Queues").get_by_role("row").nth(1)
    expect(row).to_contain_text("repair")
    row.get_by_role("button", name="Resume").click()
    expect(row.get_by_role("button", name="Pause", exact=True)).to_be_visible()


def test_cancel_the_runs_of_a_job(visitor: Visitor) -> None:
    """S66: the page of a schedule asks the runs of its job to end."""
    page = visitor.open("schedules/steady")
    page.get_by_role("button", name="Cancel runs").click()
    with page.expect_response("**/jobs/steady:cancel") as answer:
        confirm(page, "Cancel runs")
    assert answer.value.ok


def test_let_somebody_in_and_lock_them_out(visitor: Visitor, site: Site) -> None:
    """A token is shown once, lets its bearer in, is in the audit, and lets nobody in when it is revoked."""
    page = visitor.open("audit", token=site.admin_token)
    expect(page.get_by_role("table", name="Tokens")).to_be_visible()
    page.get_by_role("button", name="New token").click()
    page.get_by_role("dialog").get_by_label("Name").fill("mallory")
    page.get_by_role("dialog").get_by_role("button", name="Create token").click()
    secret = page.locator(".secret").inner_text()
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_text(secret)).to_have_count(0)
    headers = {"Authorization": f"Bearer {secret}"}
    assert site.client.get("api/v1/schedules", headers=headers).is_success
    row = page.get_by_role("table", name="Tokens").get_by_role("row").filter(has_text="mallory")
    row.get_by_role("button", name="Revoke").click()
    confirm(page, "Revoke")
    expect(row).to_contain_text("revoked")
    assert site.client.get("api/v1/schedules", headers=headers).status_code == 401
    for action in ("token.create", "token.revoke"):
        expect(page.get_by_role("row").filter(has_text=f"{action} mallory")).to_be_visible()


def test_pause_everything(visitor: Visitor, site: Site) -> None:
    """Nothing fires until somebody resumes; who, and why, stands on the overview (S29)."""
    page = visitor.open()
    page.get_by_role("button", name="Pause all").click()
    page.get_by_label("Reason").fill("a flood")
    confirm(page, "Pause all")
    expect(page.locator(".need").first).to_contain_text("a flood")
    assert site.api("GET", "overview")["paused"]
    dialog_button(page, "Resume all", "Resume")
    expect(page.get_by_role("button", name="Pause all")).to_be_visible()
    assert not site.api("GET", "overview")["paused"]


def test_a_clock_that_is_wrong_is_told(visitor: Visitor) -> None:
    """Countdowns follow the server's; whoever has the wrong one is told by how much."""
    visitor.page.add_init_script("const real = Date.now; Date.now = () => real() + 7_200_000")
    page = visitor.open()
    expect(page.locator(".needs")).to_contain_text("This computer's clock is 2 h ahead of the server's.")


def test_words_of_people_stay_words(visitor: Visitor, site: Site) -> None:
    """Markup in a reason, params and the audit is shown as written, and nothing of it happens."""
    wicked = f"{WICKED}document.title='owned'>"
    site.api("POST", "schedules/rare:pause", {"reason": wicked})
    run = site.api("POST", "schedules/mended:trigger", {"params": {"note": wicked}}, admin=True)["id"]
    page = visitor.open("schedules/rare", token=site.admin_token)
    expect(page.locator(".warning")).to_contain_text(WICKED)
    for place in ("schedules?paused=true", f"runs/{run}"):
        page.goto(f"{site.address}#/{place}")
        expect(page.locator("main").get_by_text(WICKED).first).to_be_visible()
        assert page.locator("img").count() == 0
    page.goto(f"{site.address}#/audit")
    page.get_by_role("row").filter(has_text="schedule.pause rare").first.get_by_role("button").click()
    expect(page.get_by_role("dialog")).to_contain_text(WICKED)
    assert page.locator("img").count() == 0
    assert "owned" not in page.title()
    site.api("POST", "schedules:resume", {"names": ["rare"]})


def test_add_and_remove_a_blackout(visitor: Visitor, site: Site) -> None:
    """S62: it stands in the list, on the first page and at the schedule while it is on, and goes when removed."""
    page = visitor.open("forecast", token=site.admin_token)
    page.get_by_role("button", name="Add a blackout").click()
    for label, text in (
        ("Name", "release"),
        ("Jobs", "steady"),
        ("Until", "2h"),
        ("Reason", "the database moves"),
    ):
        page.get_by_label(label).fill(text)
    confirm(page, "Add")
    row = page.get_by_role("table", name="Blackouts").get_by_role("row").nth(1)
    expect(row).to_contain_text("the database moves")
    for where in ("#/", "#/schedules/steady"):
        page.evaluate("where => { location.hash = where; }", where)
        expect(page.locator(".warning", has_text="Blackout release")).to_be_visible()
    page.evaluate("location.hash = '#/forecast'")
    page.get_by_role("button", name="Remove release").click()
    confirm(page, "Remove")
    expect(page.get_by_text("No blackouts.")).to_be_visible()


def test_cut_over_from_shadow(visitor: Visitor, site: Site) -> None:
    """The page compares both schedulers, adopts the job when the other is stopped, and takes that back (S80)."""
    shaded = {"name": "shaded", "schedule": "0 0 29 2 *", "command": "true", "shadow": True}
    site.api("POST", "schedules", shaded, admin=True)
    site.api("POST", "schedules/shaded:seen", {"key": "web1/1"})
    page = visitor.open("schedules/shaded")
    panel = page.get_by_role("region", name="Shadow")
    expect(panel.get_by_role("status")).to_contain_text("0 of 1 fires agree.")
    expect(panel.get_by_label("Differences")).to_contain_text("the schedule has no slot there")
    panel.get_by_role("button", name="Adopt").click()
    page.get_by_label("the other scheduler is stopped already").check()
    confirm(page, "Adopt")
    expect(panel.get_by_role("status")).to_contain_text("Adopted")
    assert site.api("GET", "schedules/shaded")["shadow"]["adopted_by"] != ""
    dialog_button(page, "Back into shadow", "Back into shadow")
    expect(panel.get_by_role("status")).to_contain_text("In shadow since")
