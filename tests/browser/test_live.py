"""Pages that change while somebody reads them, and what people do on them without a mouse or with one."""

import re

from playwright.sync_api import Page, Route, expect

from ..support.browser import Site, Visitor, write_job
from .test_actions import confirm

SELECTED = "getSelection().toString()"


def ended(site: Site, schedule: str, **body: object) -> str:
    """The id of a run by hand that is over."""
    run = str(site.api("POST", f"schedules/{schedule}:trigger", body)["id"])
    while site.api("GET", f"runs/{run}")["state"] in {"queued", "running"}:
        pass
    return run


def test_focus_stays_at_its_run(visitor: Visitor, site: Site) -> None:
    """Runs that arrive above do not move the focus to another."""
    run = ended(site, "rare")
    page = visitor.open("runs?q=job%3Arare")
    link = page.get_by_role("link", name=f"#{run}", exact=True)
    link.focus()
    newer = ended(site, "rare")
    expect(page.get_by_role("link", name=f"#{newer}", exact=True)).to_be_visible()
    expect(link).to_be_focused()


def test_what_is_selected_stays_selected(visitor: Visitor) -> None:
    """A text that somebody is about to copy outlives what happens meanwhile."""
    page = visitor.open("schedules/steady?tab=runs")
    expect(page.get_by_role("table", name="History").get_by_role("row").nth(3)).to_be_visible()
    page.evaluate("getSelection().selectAllChildren(document.querySelector('.lead code'))")
    chosen = page.evaluate(SELECTED)
    newest = page.get_by_role("table", name="History").get_by_role("link").first.inner_text()
    expect(page.get_by_role("table", name="History").get_by_role("link").first).not_to_have_text(newest)
    assert chosen
    assert page.evaluate(SELECTED) == chosen


def test_walk_through_runs_by_keys(visitor: Visitor, site: Site) -> None:
    """Letters walk, mark and open; what is marked is retried after a question with its number."""
    runs = [ended(site, "wicked") for _ in range(2)]
    page = visitor.open("runs?q=job%3Awicked")
    expect(page.get_by_role("link", name=f"#{runs[1]}", exact=True)).to_be_visible()
    page.keyboard.press("j")
    expect(page.get_by_role("link", name=f"#{runs[1]}", exact=True)).to_be_focused()
    page.keyboard.press("x")
    expect(page.get_by_role("group", name="Selected runs")).to_contain_text("1 selected")
    page.get_by_role("group", name="Selected runs").get_by_role("button", name="Retry").click()
    confirm(page, "Retry 1 run")
    expect(page.get_by_role("status").filter(has_text="1 of 1 done.")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("wicked")


def test_a_query_with_help(visitor: Visitor, site: Site) -> None:
    """Words are completed; what is wrong is told below; a view is one click; a whole row opens its run."""
    visitor.expects(422)
    run = ended(site, "wicked")
    page = visitor.open("runs")
    box = page.get_by_role("combobox", name="Query")
    box.fill("state:fa")
    page.keyboard.press("Tab")
    expect(box).to_have_value("state:failed ")
    expect(page.locator("tbody .badge").first).to_have_text("failed")
    assert "state%3Afailed" in page.url
    box.fill("stat:failed")
    page.keyboard.press("Enter")
    expect(page.locator(".query .field-error")).to_contain_text("state")
    page.get_by_role("button", name="Failed, 24 h").click()
    expect(box).to_have_value("state:failed,lost last 24h")
    row = page.get_by_role("row").filter(has_text=f"#{run}")
    row.locator("td.when").click(force=True)  # the link of the row lies over it
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"Run #{run}")


def test_explore_runs(visitor: Visitor, site: Site) -> None:
    """Counts narrow the query, alike failures are one line, a run is read beside the list; all are retried."""
    job = {"name": "broken", "schedule": "@yearly", "command": "false"}
    site.api("POST", "schedules", job, admin=True)
    ended(site, "rare")
    run = ended(site, "broken")
    page = visitor.open("runs?q=job%3Abroken,rare")
    counts = page.get_by_role("complementary", name="Counts")
    counts.get_by_role("button", name="failed").click()
    expect(page.get_by_role("combobox", name="Query")).to_have_value("job:broken,rare state:failed")
    alike = page.get_by_role("region", name="Failed alike").get_by_role("listitem")
    expect(alike).to_have_count(1)
    expect(alike).to_contain_text("broken")
    expect(page.get_by_role("link", name=f"#{run}", exact=True)).to_be_visible()
    page.get_by_role("button", name=f"Look into run {run}", exact=True).click(force=True)
    drawer = page.get_by_role("dialog", name=f"Run #{run}")
    expect(drawer.get_by_role("button", name="Retry")).to_be_visible()
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    page.get_by_role("button", name="Retry all that match").click()
    confirm(page, "Retry 1 run")
    expect(page.get_by_role("status").filter(has_text="1 of 1 done.")).to_be_visible()


def test_search_in_logs(visitor: Visitor, site: Site) -> None:
    """The logs of the runs in the list are read when somebody asks; a line leads to its place in the run."""
    run, other = ended(site, "wicked"), ended(site, "rare")
    page = visitor.open("runs?q=job%3Awicked%2Crare")
    expect(page.get_by_role("link", name=f"#{other}", exact=True)).to_be_visible()
    page.get_by_role("button", name="Search logs").click()
    page.get_by_role("searchbox", name="Text in logs").fill("IMG src=x")
    page.keyboard.press("Enter")
    panel = page.get_by_role("region", name="Search in logs")
    expect(panel.get_by_role("status")).to_contain_text("have it, of")
    hits = panel.get_by_role("list", name="Found in logs").get_by_role("listitem")
    expect(hits.filter(has_text=f"#{run}")).to_contain_text("wicked")
    expect(hits.filter(has_text=f"#{other}")).to_have_count(0)
    hits.filter(has_text=f"#{run}").locator(".log-hit").first.click()
    expect(page.locator(".log-line.is-chosen")).to_contain_text("<img src=x")


def test_anything_by_typing(visitor: Visitor) -> None:
    """Ctrl-K goes to a schedule, and runs one after its question."""
    page = visitor.open()
    expect(page.locator(".ribbon").first).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("run rare")
    expect(page.get_by_role("option")).to_have_text(["Run rare now"])
    page.keyboard.press("Enter")
    confirm(page, "Run now")
    page.keyboard.press("Control+k")
    page.keyboard.type("rare")
    expect(page.get_by_role("option").filter(has_text="rare")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("rare")


def test_what_a_run_got_and_printed(visitor: Visitor, site: Site) -> None:
    """Params of the definition and of the run; a log with colours, linked lines, and one step's alone."""
    (site.folder / "mended.mark").unlink(missing_ok=True)
    run = ended(site, "mended", params={"note": "mine"})
    page = visitor.open(f"runs/{run}")
    params = page.get_by_role("region", name="Params")
    expect(params).to_contain_text("mine")
    expect(params).to_contain_text("given for this run: note")
    expect(page.locator(".log-line .ansi-2")).to_have_text("prepared")
    expect(page.locator(".failure")).to_have_count(1)
    page.get_by_role("button", name="Link line 1").click()
    assert "line=1" in page.url
    expect(page.locator(".log-line.is-chosen")).to_contain_text("prepared")
    page.get_by_role("group", name="Steps").get_by_role("button", name="after").click()
    expect(page.locator(".log-line")).to_have_count(0)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == f"run-{run}.log"


def test_why_it_ran_is_asked_again(visitor: Visitor, site: Site) -> None:
    """After a retry the page explains the run as it is now."""
    (site.folder / "mended.mark").unlink(missing_ok=True)
    run = ended(site, "mended")
    page = visitor.open(f"runs/{run}")
    why = page.get_by_role("region", name="Why it ran")
    expect(why).to_contain_text("fail")
    (site.folder / "mended.mark").touch()
    page.get_by_role("button", name="Retry").click()
    confirm(page, "Retry")
    expect(page.locator(".lead .badge")).to_have_text("succeeded")
    expect(why).to_contain_text("succeeded")
    (site.folder / "mended.mark").unlink()


def test_where_an_engine_has_a_run(visitor: Visitor, site: Site) -> None:
    """Engine, reference and address are there in every state; how far it is counts while it runs (S54)."""
    run = ended(site, "rare")
    on_engine = {"engine": "gpu", "reference": f"{run}.1", "state": "accepted", "address": "http://ray/jobs/1"}
    shown = {"state": "running", "hand_over": {**on_engine, "silent_since": "2026-01-01T00:00:00Z"}}

    def answer(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, json={**response.json(), **shown})

    page = visitor.open(f"runs/{run}")
    page.route(re.compile(rf"/runs/{run}$"), answer)
    page.reload()
    note = page.locator(".note", has_text="Handed over")
    expect(note).to_contain_text("gpu")
    expect(note).to_contain_text("accepted; it does not answer since")
    expect(note.get_by_role("link", name=f"{run}.1")).to_have_attribute("href", "http://ray/jobs/1")
    shown |= {"state": "succeeded", "hand_over": {**on_engine, "address": "box:/srv/1", "silent_since": None}}
    page.reload()
    expect(note).to_contain_text(f"{run}.1 in box:/srv/1")
    expect(note).not_to_contain_text("accepted")


def test_ctrl_click_stays_signed_in(visitor: Visitor) -> None:
    """A row opened in another tab is a page like any other."""
    page: Page = visitor.open("schedules")
    expect(page.get_by_role("link", name="rare")).to_be_visible()
    with page.context.expect_page() as opened:
        page.get_by_role("row").filter(has=page.get_by_role("link", name="rare")).locator("td.words").click(
            modifiers=["Control"], force=True
        )
    expect(opened.value.get_by_role("heading", level=1)).to_have_text("rare")


def test_a_shade_says_what_it_means(visitor: Visitor) -> None:
    """The forecast tells the usual load and what is more, in numbers, whatever the theme."""
    page = visitor.open("forecast")
    expect(page.locator(".legend")).to_contain_text(re.compile(r"up to \d+, as usual"))


def test_a_command_comes_back_as_it_was_written(visitor: Visitor, site: Site) -> None:
    """Words that were saved are a line again, with its quotes; what is left as it is stays, and a label can go."""
    labels = {"team": "data", "old": "yes"}
    site.api(
        "POST",
        "schedules",
        {"name": "written", "schedule": "@yearly", "command": ["echo", "two words"], "labels": labels},
        admin=True,
    )
    page = visitor.open("schedules/written/edit", token=site.admin_token)
    text = page.get_by_role("textbox", name="Job file")
    expect(text).to_contain_text("command: echo 'two words'")
    write_job(page, text.inner_text().replace('old: "yes"', "").replace("team: data", "team: shop"))
    expect(page.get_by_role("region", name="Change")).to_contain_text("+   team: shop")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("written")
    definition = site.api("GET", "schedules/written")["definition"]
    assert (definition["command"], definition["labels"]) == (["echo", "two words"], {"team": "shop"})
