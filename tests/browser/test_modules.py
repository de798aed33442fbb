"""The pure modules of the dashboard, called in the browser that they are for."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page

from ..support.browser import Site, Visitor


@pytest.fixture
def page(visitor: Visitor, site: Site) -> Page:
    """A page of the same origin that draws nothing."""
    visitor.expects(404)
    visitor.page.goto(f"{site.address}assets/none")
    return visitor.page


def call(page: Page, site: Site, module: str, function: str, *arguments: Any) -> Any:
    """What a function of a module returns, as JSON."""
    [version, *_] = re.findall(r'"assets/([^/]+)/', site.client.get("").text)
    address = f"{site.address}assets/{version}/{module}.js"
    script = "async ([address, name, given]) => (await import(address))[name](...given)"
    return page.evaluate(script, [address, function, list(arguments)])


JOB = """\
schedule: "0 3 * * *"
retry:
  limit: 3
steps:
- name: extract
  command: ./extract
  retry:
    interval: 1m
- name: load
  preconditions:
    - command: ls
"""


@pytest.mark.parametrize(
    ("until", "path", "word", "is_key"),
    [
        ("", [], "", True), ("sched", [], "sched", True), ("schedule: ", ["schedule"], "", False),
        ("retry:\n  lim", ["retry"], "lim", True), ("steps:\n- na", ["steps", "[]"], "na", True),
        ("steps:\n  - name: a\n    ret", ["steps", "[]"], "ret", True),
        (JOB + "      expected: re", ["steps", "[]", "preconditions", "[]", "expected"], "re", False),
        (JOB + "  on", ["steps", "[]"], "on", True), (JOB + "on:\n  fail", ["on"], "fail", True),
        (JOB + "lab", [], "lab", True), ("# name:\n  la", [], "la", True),
    ],
)  # fmt: skip
def test_where_the_caret_stands(
    page: Page, site: Site, until: str, path: list[str], word: str, is_key: bool
) -> None:
    """The path to a place follows from the indents of the lines before it; a list may stand without one."""
    found = call(page, site, "schemacompletion", "placeAt", until, len(until))
    assert found == {"path": path, "word": word, "isKey": is_key}


def test_words_come_from_the_schema(page: Page, site: Site) -> None:
    """Keys of a mapping, values of a choice, and those that the page knows besides."""
    schema = site.api("GET", "definitions/schema")

    def words(text: str) -> list[str]:
        more = {"depends": [{"label": "extract", "about": "", "insert": "extract"}]}
        return [
            one["label"]
            for one in call(page, site, "schemacompletion", "wordsAt", schema, text, len(text), more)["words"]
        ]

    assert {"schedule", "steps", "overlap"} <= set(words(""))
    assert set(words("overlap: ")) >= {"skip", "queue", "replace"}
    assert set(words("enabled: ")) == {"true", "false"}
    assert "interval" in words("retry:\n  ")
    assert "within" in words("after:\n  - ")
    assert words("steps:\n  - depends: ") == ["extract"]


def test_what_changed(page: Page, site: Site) -> None:
    """The fewest lines; and a patch that, merged into the one, gives the other."""
    lines = call(page, site, "textdiff", "diffLines", "a\nb\nc", "a\nx\nc\nd")
    assert lines == [[" ", "a"], ["-", "b"], ["+", "x"], [" ", "c"], ["+", "d"]]
    before = {"command": ["ls"], "labels": {"team": "a", "old": "b"}, "queue": "q", "steps": [1, 2]}
    after = {"command": ["ls"], "labels": {"team": "c"}, "steps": [1, 3]}
    patch = call(page, site, "definitiontext", "mergePatch", before, after)
    assert patch == {"labels": {"team": "c", "old": None}, "queue": None, "steps": [1, 3]}


@pytest.mark.parametrize(
    "definition",
    [
        {"command": ["echo", "two words", "it's"], "schedule": {"every": "1h30m"}},
        {"script": "set -e\n\ncd /srv\n", "description": "a: b # c", "labels": {"on": "yes", "n": "12"}},
        {"script": "  in\nlines\n\n", "params": {"command": ["a", "b"], "x": None, "y": [], "z": {"a": [1, [2]]}}},
        {"steps": [{"name": "a", "script": "x", "dir": "/x"}, {"name": "b", "depends": ["a"], "script": "y"}]},
        {"http": {"url": "http://a/b?c=d&e", "headers": {"X": "@a", "Y": "- b", "Z": "c\td"}}},
    ],
)  # fmt: skip
def test_a_definition_as_text_means_the_same(page: Page, site: Site, definition: dict[str, Any]) -> None:
    """What the page writes is read by the server as what it was."""
    known = {"schedule": "0 3 * * *", **definition}
    text = call(page, site, "definitiontext", "definitionText", known)
    found = site.api("POST", "definitions:check", {"yaml": text, "name": "n"})
    assert found["problems"] == [], text
    given = found["definition"]
    assert {name: given[name] for name in definition} == definition, text


def test_a_query_is_narrowed_and_widened(page: Page, site: Site) -> None:
    """A click on a count adds its word, another takes it back; other words and quotes stay."""
    narrowed = call(page, site, "runquery", "toggled", 'error:"a b" last 2h', "state", "failed")
    assert narrowed == 'error:"a b" last 2h state:failed'
    assert call(page, site, "runquery", "toggled", narrowed, "state", "lost") == 'error:"a b" last 2h state:lost'
    assert call(page, site, "runquery", "toggled", narrowed, "state", "failed") == 'error:"a b" last 2h'


@pytest.mark.parametrize(
    ("state", "step", "at_most_once", "reason"),
    [
        ("failed", "succeeded", False, ""), ("lost", "failed", False, ""),
        ("failed", None, False, "has not begun"), ("failed", "failed", True, "at_most_once"),
        ("succeeded", "succeeded", False, "State succeeded"),
    ],
)  # fmt: skip
def test_why_a_run_does_not_begin_from_a_step(
    page: Page, site: Site, state: str, step: str | None, at_most_once: bool, reason: str
) -> None:
    """What cannot be retried is told beside the button; everything else can."""
    job = {"at_most_once": at_most_once}
    found = call(page, site, "runactions", "whyNotFrom", {"state": state}, {"state": step}, job)
    assert (reason in found) if reason else found == ""


def test_what_follows_a_step(page: Page, site: Site) -> None:
    """All that depend on it, directly or not, in their order, and nothing beside it."""
    steps = [("a", []), ("d", ["c"]), ("b", ["a"]), ("c", ["b"]), ("other", [])]
    given = [{"name": name, "depends": depends} for name, depends in steps]
    assert call(page, site, "stepdetail", "followingOf", given, "b") == ["d", "c"]


RIBBONS = [
    {"name": "shop-a", "labels": {"team": "web", "stage": "live"}, "bins": [[0, {"ran": 2}], [4, {"to_come": 1}]],
     "totals": {"ran": 2, "to_come": 1}},
    {"name": "bank_x", "labels": {}, "bins": [[0, {"ran": 3}]], "totals": {"ran": 3}},
    {"name": "bank_y", "labels": {}, "bins": [[0, {"skipped": 2}]], "totals": {"skipped": 2}, "in_shadow": True},
    {"name": "shop.b", "labels": {"team": "data"}, "bins": [[0, {"failed": 1, "ran": 1}]],
     "totals": {"failed": 1, "ran": 1}},
]  # fmt: skip


def test_ribbons_are_merged_by_prefix(page: Page, site: Site) -> None:
    """Each slot is in one group, in its bin; the group of which the smallest share ran stands first."""
    shop, bank = call(page, site, "ribbongroups", "grouped", RIBBONS, "prefix")
    assert (shop["name"], shop["schedules"], shop["good"]) == ("shop", 2, 0.75)
    assert shop["bins"] == [[0, {"ran": 3, "failed": 1}], [4, {"to_come": 1}]]
    assert (bank["name"], bank["totals"], bank["good"]) == ("bank", {"ran": 3, "skipped": 2}, 1)
    assert call(page, site, "ribbongroups", "filterOf", shop, "prefix") == {"text": "shop"}


def test_ribbons_are_merged_by_label(page: Page, site: Site) -> None:
    """By the labels that most of them have; schedules without it are a group that leads nowhere."""
    assert call(page, site, "ribbongroups", "groupings", RIBBONS) == ["prefix", "label:team", "label:stage"]
    groups = call(page, site, "ribbongroups", "grouped", RIBBONS, "label:team")
    assert [(one["name"], one["schedules"], one["good"]) for one in groups] == [
        ("data", 1, 0.5), ("", 2, 1), ("web", 1, 1),
    ]  # fmt: skip
    leads = [call(page, site, "ribbongroups", "filterOf", one, "label:team") for one in groups]
    assert leads == [{"label": "team=data"}, None, {"label": "team=web"}]


@pytest.mark.parametrize(
    ("role", "scopes", "may_view", "may_operate", "may_all"),
    [
        ("admin", [], True, True, ["viewer", "operator", "admin"]),
        ("operator", [], True, True, ["viewer", "operator"]),
        ("operator", ["team-a.*"], True, True, []),
        ("operator", ["team-b.*"], False, False, []),
        ("operator", ["team-b.*", "viewer:*"], True, False, ["viewer"]),
        ("operator", ["viewer:team-a.lo?d"], True, False, []),
        ("operator", ["team-a", "team-a.l", "teamxa.*"], False, False, []),
        ("viewer", ["*"], True, False, ["viewer"]),
    ],
)
def test_what_a_role_with_scopes_allows(
    page: Page, site: Site, role: str, scopes: list[str], may_view: bool, may_operate: bool, may_all: list[str]
) -> None:
    """The page offers what the API would do: by patterns of job names, each for its role."""
    person = {"role": role, "scopes": scopes}
    assert call(page, site, "roles", "allows", person, "viewer", "team-a.load") is may_view
    assert call(page, site, "roles", "allows", person, "operator", "team-a.load") is may_operate
    wanted = ["viewer", "operator", "admin"]
    assert [one for one in wanted if call(page, site, "roles", "allowsAll", person, one)] == may_all
