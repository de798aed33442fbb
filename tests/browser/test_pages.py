"""Every page opens, says what it should, and takes nobody's text for markup."""

import re

from playwright.sync_api import Response, Route, expect

from ..support.browser import SUMMARY, Site, Visitor

PLACES: dict[str, str | re.Pattern[str]] = {
    "": SUMMARY,
    "schedules": "Schedules",
    "schedules?text=rare&paused=false": "Schedules",
    "schedules/rare": "rare",
    "schedules/rare?tab=runs": "rare",
    "schedules/rare?tab=definition": "rare",
    "schedules/rare?tab=whatif": "rare",
    "create": "New schedule",
    "schedules/rare/edit": "Edit rare",
    "runs": "Runs",
    "runs?q=state%3Afailed": "Runs",
    "forecast": "Forecast",
    "forecast?hours=168": "Forecast",
    "calendars": "Calendars",
    "fleet": "Workers and queues",
    "audit": "Audit",
    "signin": "Sign in",
}
WIDTHS = (1280, 1100, 1024, 800, 390)  # pixels
FIRST_VIEW = 150_000  # bytes on the wire
WICKED = "<img src=x onerror="


def test_every_page_opens(visitor: Visitor, site: Site) -> None:
    """Each opens without an error and without breaking the CSP, and scrolls sideways on no screen."""
    page = visitor.open(token=site.admin_token)
    for place, heading in PLACES.items():
        page.goto(f"{site.address}#/{place}")
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
        expect(page.locator(".loading")).to_have_count(0)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 844})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (place, width)
        page.set_viewport_size({"width": 1280, "height": 800})


def test_text_of_others_stays_text(visitor: Visitor, site: Site) -> None:
    """Markup in descriptions, labels, errors and logs is shown as it was written, and never becomes an element."""
    run = site.run("wicked")
    page = visitor.open(f"runs/{run}")
    expect(page.locator(".badge.is-failed").first).to_be_visible()
    expect(page.locator(".log-line.stderr")).to_contain_text(WICKED)
    page.goto(f"{site.address}#/schedules/wicked")
    expect(page.locator(".lead")).to_contain_text(WICKED)
    expect(page.locator(".facts .tag")).to_contain_text(WICKED)
    assert page.locator("main img, main script").count() == 0
    assert "owned" not in page.title()


def test_a_broken_file_is_told_with_its_way_out(visitor: Visitor, site: Site) -> None:
    """The first page names the file, the line and the fault as they are, and the command that helps."""
    broken = site.folder / "jobs" / "typo.yaml"
    page = visitor.open()
    broken.write_text('schedule: "61 * * * *"\ncommand: "true"\n')
    need = page.locator(".need").filter(has_text="typo.yaml")
    expect(need).to_contain_text("schedule: minute: 61 is out of range 0-59")
    broken.unlink()


def test_what_is_not_there(visitor: Visitor, site: Site) -> None:
    """A schedule or a run that does not exist is told so, with the nearest name, instead of a page that loads."""
    visitor.expects(404)
    page = visitor.open("schedules/steddy")
    expect(page.get_by_role("alert").filter(has_text="did you mean steady?")).to_be_visible()
    expect(page.locator(".loading")).to_have_count(0)
    page.goto(f"{site.address}#/runs/999999")
    expect(page.get_by_role("alert").filter(has_text="there is no run")).to_be_visible()


def test_numbers_keep_their_digits(visitor: Visitor) -> None:
    """An integer beyond 2^53 is shown digit by digit, not as JSON.parse would round it."""
    page = visitor.open("schedules/wicked?tab=definition")
    expect(page.get_by_role("group", name="Definition")).to_contain_text("9007199254740993123")


def test_what_is_there_is_shown_at_once(visitor: Visitor) -> None:
    """The page stands before its numbers are there, and its parts are filled as they come."""
    held: list[Route] = []
    visitor.page.route("**/overview", lambda route: held.append(route))  # noqa: PLW0108  (they mark what they call)
    page = visitor.open()
    expect(page.locator(".ribbon .bin").first).to_be_visible()
    expect(page.locator(".summary")).not_to_contain_text("worker")
    held[0].continue_()
    expect(page.locator(".summary")).to_contain_text("1 worker")


def test_the_first_view_is_small(visitor: Visitor, site: Site) -> None:
    """All that the first view needs, data included, is under 150 kB, and comes from the server itself."""
    answers: list[Response] = []
    visitor.page.on("response", lambda answer: answers.append(answer))  # noqa: PLW0108  (they mark what they call)
    page = visitor.open()
    expect(page.locator(".summary")).to_contain_text("worker")
    expect(page.locator(".loading")).to_have_count(0)
    expect(page.locator(".ribbon .bin").first).to_be_visible()
    assert all(answer.url.startswith(site.address) for answer in answers)
    first = [answer for answer in answers if not answer.url.endswith("/events")]
    assert sum(answer.request.sizes()["responseBodySize"] for answer in first) < FIRST_VIEW


def test_who_starts_when(visitor: Visitor) -> None:
    """A cell of the forecast tells who starts then, by a click or by the keyboard."""
    page = visitor.open("forecast")
    page.locator(".heat [role=button]").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_role("table", name="Starts").get_by_role("link", name="steady")).to_be_visible()


def test_colours_can_be_chosen(visitor: Visitor) -> None:
    """The switch goes from the system's colours to light and dark, and a reload keeps the choice."""
    page = visitor.open()
    for _ in range(2):
        page.get_by_role("button", name="Colours").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.get_by_role("button", name="Colours: dark")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_the_zone_is_always_named(visitor: Visitor) -> None:
    """Times are in the viewer's zone, which the page names, and in UTC if they choose so."""
    page = visitor.open("schedules")
    expect(page.get_by_role("columnheader", name="Next (Europe/Berlin)")).to_be_visible()
    page.get_by_role("button", name="Europe/Berlin").click()
    expect(page.get_by_role("columnheader", name="Next (UTC)")).to_be_visible()


def test_a_year_of_a_calendar(visitor: Visitor, site: Site) -> None:
    """S60: its days month by month, the names of holidays, who uses it, and other years."""
    folder = site.folder / "jobs" / "calendars"
    folder.mkdir()
    (folder / "office.yaml").write_text("weekdays: [MON-FRI]\nremove: [{holidays: {country: DE}}]\n")
    page = visitor.open("calendars?year=2027", token=site.admin_token)
    try:
        while not page.get_by_role("button", name="Show office").count():
            page.reload()
            expect(page.locator(".loading")).to_have_count(0)
        march = page.get_by_role("img", name="March 2027: 1, 2, 3, 4, 5, 8,")
        expect(march.locator(".is-in")).to_have_count(21)
        expect(page.get_by_role("table", name="Named days")).to_contain_text("Good Friday")
        expect(page.get_by_role("region", name="office")).to_contain_text("Used by")
        page.get_by_role("button", name="The year after").click()
        expect(page.get_by_role("img", name="January 2028:")).to_be_visible()
        page.get_by_role("button", name="Expand").click()
        expect(page.get_by_text("The calendar office has days up to")).to_be_visible()
    finally:
        (folder / "office.yaml").unlink()
        folder.rmdir()
