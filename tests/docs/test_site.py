"""The site that `make docs` builds of docs/, and the timelines that it shows."""

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tools import site
from tools.site_pages import listed_pages, with_all_pages, without_outer_links
from tools.timelines import drawings

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_the_site_is_built_strictly(tmp_path: Path) -> None:
    """No link is dead, no page is missing, every page can be found by search, and older versions stay."""
    for older in ("0.0", "notes"):
        (tmp_path / older).mkdir()
        (tmp_path / older / "index.html").touch()
    built = site.build(tmp_path)
    pages = {page.relative_to(DOCS).with_suffix(".html").as_posix() for page in DOCS.rglob("*.md")}
    found = {entry["location"].partition("#")[0] for entry in _search_index(built)}
    assert pages <= found | {"index.html"}
    versions = json.loads((tmp_path / "versions.json").read_text("utf-8"))
    assert [(one["version"], one["aliases"]) for one in versions] == [(built.name, ["latest"]), ("0.0", [])]
    assert f"url={built.name}/index.html" in (tmp_path / "index.html").read_text("utf-8")
    assert '"provider": "mike"' in (built / "index.html").read_text("utf-8")


def _search_index(site: Path) -> list[dict[str, str]]:
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    entries: list[dict[str, str]] = index["docs"]
    return entries


def test_every_page_is_in_the_navigation() -> None:
    """Also one that nobody listed: it stands at the end of its section. No page is listed twice."""
    nav = YAML(typ="safe").load(ROOT / "mkdocs.yml")["nav"]
    pages = listed_pages(with_all_pages(nav, DOCS))
    written = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert sorted(pages) == sorted(page for page in written if not page.startswith("adr/"))


@pytest.mark.parametrize(
    ("link", "repository", "expected"),
    [
        ("[tests](../../tests/cli)", "", "tests"),
        (
            "[tests](../../tests/cli)",
            "https://example.com/tickwise",
            "[tests](https://example.com/tickwise/tests/cli)",
        ),
        ("[yaml](../yaml.md#steps)", "", "[yaml](../yaml.md#steps)"),
        ("![night](../images/night.svg)", "", "![night](../images/night.svg)"),
        ("[site](https://example.com)", "", "[site](https://example.com)"),
    ],
)
def test_links_that_lead_out_of_the_site(link: str, repository: str, expected: str) -> None:
    """They lead to the repository if mkdocs.yml names it, else they are text; other links stay."""
    assert without_outer_links(f"See {link}.", "howto/page.md", repository) == f"See {expected}."


@pytest.mark.parametrize(("file", "drawn"), [pytest.param(*one, id=one[0].stem) for one in drawings()])
def test_a_timeline_shows_what_the_planner_does(file: Path, drawn: str) -> None:
    """Each picture is what the simulator says today."""
    assert file.read_text("utf-8") == drawn, "out of date: python -m tools.timelines"
