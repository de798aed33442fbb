"""What people do, from the click to what the server says afterwards."""

from playwright.sync_api import Browser, Page, expect

from ..support.browser import SUMMARY, Site, Visitor


def confirm(page: Page, name: str) -> None:
    page.get_by_role("dialog").get_by_role("button", name=name, exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_pause_with_a_reason_and_resume(visitor: Visitor, site: Site) -> None:
    """The reason stands where the schedule is shown, and the server knows who paused it (S29)."""
    page = visitor.open("schedules/rare")
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_label("Reason").fill("the database moves")
    confirm(page, "Pause")
    expect(page.locator(".warning")).to_contain_text("Paused by ops")
    expect(page.locator(".warning")).to_contain_text("the database moves")
    assert site.api("GET", "schedules/rare")["paused"]["reason"] == "the database moves"
    page.get_by_role("button", name="Resume", exact=True).click()
    confirm(page, "Resume")
    expect(page.locator(".warning")).to_have_count(0)
    assert site.api("GET", "schedules/rare")["paused"] is None


def test_run_now(visitor: Visitor) -> None:
    """A run by hand shows up in the history by itself, and ends there (S30)."""
    page = visitor.open("schedules/rare?tab=runs")
    page.get_by_role("button", name="Run now").click()
    confirm(page, "Run now")
    history = page.get_by_role("region", name="History")
    expect(history.get_by_role("row").filter(has_text="manual").locator(".badge")).to_have_text("succeeded")


def test_pause_many_at_once(visitor: Visitor, site: Site) -> None:
    """Those that are listed are chosen together, paused with one reason, and found by the filter."""
    page = visitor.open("schedules?label=team")
    expect(page.get_by_role("link", name="rare")).to_be_visible()
    page.get_by_label("Select all").check()
    expect(page.get_by_role("group", name="Selected schedules")).to_contain_text("2 selected")
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_label("Reason").fill("all of them")
    confirm(page, "Pause")
    page.get_by_role("group", name="Which").get_by_role("button", name="paused").click()
    expect(page.locator("tbody .badge.is-paused")).to_have_count(2)
    assert "paused=true" in page.url
    site.api("POST", "schedules:resume", {"names": ["rare", "wicked"]})


def test_a_wrong_expression_is_refused_where_it_is_wrong(visitor: Visitor, site: Site) -> None:
    """The letter that is wrong is marked while typing; what is right is explained, saved, and can be edited."""
    visitor.expects(422)
    page = visitor.open("create", token=site.admin_token)
    page.get_by_label("Name").fill("made-here")
    page.get_by_label("Times").fill("0 25 * * *")
    expect(page.locator(".marked mark")).to_have_text("2")
    expect(page.locator(".marked")).to_have_attribute("data-position", "2")
    page.get_by_label("Times").fill("0 5 * * *")
    expect(page.locator(".means")).to_contain_text("05:00")
    expect(page.locator(".preview li")).to_have_count(10)
    page.get_by_label("Input").fill("echo made")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("made-here")
    page.get_by_role("link", name="Edit").click()
    expect(page.locator(".means")).to_contain_text("05:00")
    page.get_by_label("Times").fill("0 6 * * *")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".lead")).to_contain_text("At 06:00")
    assert site.api("GET", "schedules/made-here")["times"] == "0 6 * * *"


def test_a_definition_that_cannot_be_used_is_told_at_its_field(visitor: Visitor, site: Site) -> None:
    """What the server refuses stands beside the field that it is about."""
    visitor.expects(422)
    page = visitor.open("create", token=site.admin_token)
    page.get_by_label("Name").fill("never-made")
    page.get_by_label("Times").fill("0 5 * * *")
    page.get_by_label("Input").fill("echo made")
    page.get_by_label("Jitter").fill("soon")
    page.get_by_role("button", name="Create").click()
    expect(page.locator(".field", has=page.get_by_label("Jitter")).locator(".field-error")).to_contain_text("soon")
    expect(page.get_by_label("Jitter")).to_be_focused()


def test_cancel(visitor: Visitor, site: Site) -> None:
    """A running run is ended after a question, and the page follows its log and its state (S41)."""
    page = visitor.open(f"runs/{site.run('sleeper')}")
    expect(page.locator(".log-line")).to_contain_text("begun")
    page.get_by_role("button", name="Cancel", exact=True).click()
    confirm(page, "Cancel the run")
    expect(page.locator(".lead .badge")).to_have_text("cancelled")


def test_retry_from_the_failed_step(visitor: Visitor, site: Site) -> None:
    """What succeeded is not repeated: the graph ends in two successes of one run."""
    page = visitor.open(f"runs/{site.run('mended')}")
    expect(page.locator(".step.is-failed")).to_contain_text("after")
    (site.folder / "mended.mark").touch()
    page.get_by_role("button", name="Retry").click()
    confirm(page, "Retry")
    expect(page.locator(".step.is-succeeded")).to_have_count(2)
    expect(page.locator(".log-line").last).to_contain_text("mended at last")
    expect(page.get_by_role("region", name="Earlier attempts")).to_contain_text("failure")


def test_backfill_with_a_dry_run(visitor: Visitor) -> None:
    """A dry run lists the slots; the backfill makes their runs (S32)."""
    page = visitor.open("schedules/rare?tab=runs")
    page.get_by_role("button", name="Backfill").click()
    page.get_by_role("button", name="Dry run").click()
    expect(page.locator(".dry-run li")).to_have_count(1)
    confirm(page, "Backfill")
    history = page.get_by_role("region", name="History")
    expect(history.get_by_role("row").filter(has_text="backfill").locator(".badge")).to_have_text("succeeded")


def test_what_if_it_had_been_down(visitor: Visitor) -> None:
    """The simulation draws the slots of an outage and says what would have become of each."""
    page = visitor.open("schedules/rare?tab=whatif")
    page.get_by_role("button", name="Simulate").click()
    expect(page.get_by_role("figure", name="Simulation").locator(".piece").first).to_be_visible()
    expect(page.get_by_role("table", name="Simulated slots").get_by_role("row")).to_have_count(2)


def test_a_viewer_gets_no_buttons(browser: Browser, site: Site) -> None:
    """Who may only look is offered nothing that would be refused; a token that nobody has is told so."""
    made = site.api("POST", "tokens", {"name": "eve", "role": "viewer"}, admin=True)
    with Visitor(browser, site) as visitor:
        visitor.expects(401)
        page = visitor.open("signin")
        page.get_by_label("Token").fill("nonsense")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert").filter(has_text="nobody has this token")).to_be_visible()
        page.get_by_label("Token").fill(made["secret"])
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator(".person")).to_contain_text("eve")
        page.goto(f"{site.address}#/schedules/rare")
        expect(page.get_by_role("heading", level=1)).to_have_text("rare")
        for name in ("Run now", "Pause", "Reschedule", "Backfill", "Reset", "Edit", "Delete"):
            assert page.get_by_role("button", name=name, exact=True).count() == 0
        expect(page.get_by_role("navigation").get_by_role("link", name="Audit")).to_have_count(0)


def test_a_link_signs_in_all_tabs(browser: Browser, site: Site) -> None:
    """A link signs the browser in, new tabs too; signing out ends that, and the link is used up."""
    with Visitor(browser, site) as visitor:
        visitor.expects(401)
        code = site.api("POST", "links", {"role": "operator"}, admin=True)["code"]
        page = visitor.page
        page.goto(f"{site.address}#/signin?code={code}")
        expect(page.locator(".person")).to_contain_text("operator")
        expect(page.get_by_role("heading", level=1)).to_have_text(SUMMARY)
        assert code not in page.url
        tab = page.context.new_page()
        tab.goto(f"{site.address}#/schedules/rare")
        expect(tab.get_by_role("heading", level=1)).to_have_text("rare")
        tab.get_by_role("button", name="Sign out").click()
        expect(tab.get_by_role("heading", level=1)).to_have_text("Sign in")
        tab.goto(f"{site.address}#/signin?code={code}")
        expect(tab.get_by_role("alert").filter(has_text="used already")).to_be_visible()
