"""What people do, from the click to what the server says afterwards."""

from playwright.sync_api import Browser, Locator, Page, expect

from ..support.browser import SUMMARY, Site, Visitor, write_job


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


def test_begin_again_from_a_step(visitor: Visitor, site: Site) -> None:
    """A step shows what it hands on, its items are folded when they are many, and the run begins again from it."""
    steps = [
        {"name": "list", "script": """echo '{"parts": [1, 2, 3, 4, 5, 6, 7, 8]}'"""},
        {
            "name": "load", "depends": "list", "foreach": "${steps.list.outputs.parts}",
            "script": """echo "{\\"rows\\": $TICKWISE_ITEM}\"""",
        },
        {"name": "tell", "depends": "load", "script": "exit 1"},
    ]  # fmt: skip
    site.api("POST", "schedules", {"name": "parts", "schedule": "@yearly", "steps": steps}, admin=True)
    run = site.run("parts")
    page = visitor.open(f"runs/{run}?step=load")
    chain = page.get_by_role("group", name="Steps")
    items = chain.get_by_role("button", name="load[")
    fold = chain.get_by_role("button", name="Show all: 8 succeeded")
    expect(fold).to_have_attribute("aria-expanded", "false")
    expect(items).to_have_count(0)
    fold.click()
    expect(items).to_have_count(8)
    expect(page.get_by_role("group", name="Outputs of load")).to_contain_text("7: 8")
    begun = {step["name"]: step["started_at"] for step in site.api("GET", f"runs/{run}/steps")["items"]}
    page.get_by_role("button", name="Retry from load").click()
    expect(page.get_by_role("dialog")).to_contain_text("what depends on it: tell")
    confirm(page, "Retry")
    expect(page.locator(".facts").first).to_contain_text("Attempt2")
    expect(page.get_by_role("button", name="Retry from load")).to_be_visible()  # the run is over
    again = {step["name"]: step["started_at"] for step in site.api("GET", f"runs/{run}/steps")["items"]}
    assert {name for name in begun if begun[name] == again[name]} == {"list"}


def test_a_job_is_written_with_help(visitor: Visitor, site: Site) -> None:
    """Fields are completed by the schema, mistakes are marked at their place; what is right is saved."""
    page = visitor.open("create", token=site.admin_token)
    write_job(page, 'name: made-here\nschedule: "0 25 * * *"\ncommand: echo made\njitter: soon\n')
    mistakes = page.get_by_role("status", name="Mistakes")
    expect(mistakes).to_contain_text("line 2 schedule: hour: 25 is out of range")
    expect(mistakes).to_contain_text("line 4 jitter")
    expect(page.locator(".cm-lintRange-error").first).to_have_text("25")
    expect(page.get_by_role("button", name="Create")).to_be_disabled()
    write_job(page, 'name: made-here\nschedule: "0 5 * * *"\ncommand: echo made\nover')
    page.keyboard.press("Control+End")
    page.keyboard.press("Control+Space")
    words = page.locator(".cm-tooltip-autocomplete").get_by_role("option")
    words.filter(has_text="overlap").click()
    page.keyboard.press("Control+Space")
    words.filter(has_text="queue").first.click()
    expect(page.get_by_role("textbox", name="Job file")).to_contain_text("overlap: queue")
    expect(page.locator(".means")).to_contain_text("At 05:00")
    expect(page.get_by_role("region", name="When").get_by_role("listitem")).to_have_count(10)
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("made-here")
    made = site.api("GET", "schedules/made-here")
    assert (made["times"], made["definition"]["catchup"]) == ("0 5 * * *", "all")  # which overlap: queue implies


def test_a_text_is_tried_before_it_is_saved(visitor: Visitor, site: Site) -> None:
    """Its run opens, and nothing but the try is stored; the try can be deleted."""
    page = visitor.open("create", token=site.admin_token)
    write_job(page, 'name: new-one\nschedule: "0 5 * * *"\ncommand: echo tried\n')
    page.get_by_role("button", name="Try once").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("new-one.try")
    assert {one["name"] for one in site.api("GET", "schedules?text=new-one")["items"]} == set()
    page.goto(f"{site.address}#/schedules?text=new-one")
    page.get_by_role("region", name="Jobs without a schedule").get_by_role("button", name="Delete").click()
    confirm(page, "Delete")
    expect(page.get_by_role("region", name="Jobs without a schedule")).to_have_count(0)


def test_a_change_of_a_file_is_copied(visitor: Visitor, site: Site) -> None:
    """A job of a folder can be tried here: the page says that its file must be changed, and shows the lines."""
    page = visitor.open("schedules/mended/edit", token=site.admin_token)
    expect(page.locator(".warning.note")).to_contain_text("does not write to files")
    text = page.get_by_role("textbox", name="Job file")
    write_job(page, text.inner_text().replace("name: after", "name: afterwards"))
    change = page.get_by_role("region", name="Change")
    expect(change).to_contain_text("+   - name: afterwards")
    expect(change).to_contain_text("-   - name: after")
    expect(page.get_by_role("region", name="Steps").locator(".step")).to_have_count(2)
    expect(page.get_by_role("button", name="Save")).to_have_count(0)


def test_params_by_their_type(visitor: Visitor, site: Site) -> None:
    """A run by hand gets a field for each param of the definition; only what was changed is given."""
    visitor.expects(422)
    body = {
        "name": "typed",
        "schedule": "@yearly",
        "command": "true",
        "params": {"rows": 5, "full": True, "name": "a"},
    }
    site.api("POST", "schedules", body, admin=True)
    page = visitor.open("schedules/typed")
    page.get_by_role("button", name="Run now").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("rows").fill("many")
    dialog.get_by_role("button", name="Run now").click()
    expect(dialog.get_by_role("alert")).to_contain_text("rows: this is not JSON")
    dialog.get_by_label("rows").fill("12")
    dialog.get_by_label("full").uncheck()
    confirm(page, "Run now")
    expect(page.get_by_role("status").filter(has_text="Started typed.")).to_be_visible()
    assert site.api("GET", "runs?job=typed")["items"][0]["params"] == {"rows": 12, "full": False}


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
    expect(page.get_by_role("button", name="All steps")).to_contain_text("2 attempts")
    expect(page.get_by_title("attempt 1: failed")).to_be_visible()


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
    """Below the slots as they were, the simulator's; dragging over them moves the outage."""
    page = visitor.open("schedules/rare?tab=whatif")
    ribbons = page.get_by_role("group", name="Simulation")
    simulated = ribbons.get_by_role("slider", name="Slots of rare, simulated")
    expect(simulated.locator(".slot.is-ran")).to_have_count(1)
    expect(page.get_by_role("table", name="Simulated slots").get_by_role("row")).to_have_count(2)
    before = page.get_by_label("Down from").input_value()
    drag(page, simulated, 0.1, 0.3)
    expect(page.get_by_label("Down from")).not_to_have_value(before)
    expect(ribbons.locator(".ribbon-shade")).to_be_visible()


def drag(page: Page, ribbon: Locator, begin: float, end: float) -> None:
    """Choose a stretch of a ribbon, between two shares of its width."""
    box = ribbon.bounding_box()
    assert box
    page.mouse.move(box["x"] + begin * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + end * box["width"], box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()


def test_backfill_by_dragging(visitor: Visitor) -> None:
    """What was chosen of a ribbon, by dragging or by keys, is asked for as a backfill."""
    page = visitor.open("schedules/rare?hours=24")
    ribbon = page.get_by_role("slider", name="Slots of rare")
    drag(page, ribbon, 0.2, 0.5)
    dialog = page.get_by_role("dialog", name="Backfill rare")
    begin, end = dialog.get_by_label("From (").input_value(), dialog.get_by_label("Until (").input_value()
    assert begin < end
    page.keyboard.press("Escape")
    ribbon.focus()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Enter")
    expect(dialog).to_be_visible()


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
    """A link signs the browser in, new tabs too; signing out ends that everywhere, and the link is used up."""
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
        tab.goto(f"{site.address}#/runs")
        expect(tab.get_by_role("heading", level=1)).to_have_text("Sign in")
        tab.goto(f"{site.address}#/signin?code={code}")
        expect(tab.get_by_role("alert").filter(has_text="used already")).to_be_visible()
