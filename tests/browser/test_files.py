"""The files of the dashboard, and how they are served."""

import json
import re
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import pytest

from tools.vendor import BUNDLE, ROOT, read_packages

from ..support.browser import Site

STATIC = Path(str(files("tickwise") / "web" / "static"))
FORBIDDEN = re.compile(
    r"innerHTML|InnerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc"
    r"|\beval\(|new Function|javascript:|setAttribute\(\"style|https?://(?!www\.w3\.org/2000/svg)"
)


SOURCES = sorted(path for path in STATIC.rglob("*") if path.is_file() and path.parent.name != "vendor")
FETCHED = {
    ROOT / package["into"] / name: digest
    for package in read_packages()
    for name, digest in package["sha256"].items()
}

LOCKED = [
    one["integrity"]
    for path, one in json.loads((BUNDLE / "package-lock.json").read_text())["packages"].items()
    if path
]


def test_files_of_others_are_what_was_fetched() -> None:
    """Each is, byte by byte, what `make vendor` wrote for a named version, with a licence beside it."""
    folders = {path.parent for path in FETCHED}
    assert {
        path: sha256(path.read_bytes()).hexdigest() for folder in folders for path in folder.iterdir()
    } == FETCHED
    for package in read_packages():
        archives = [package["integrity"]] if "integrity" in package else LOCKED
        assert archives
        assert all(one.startswith("sha512-") for one in archives)
        assert any(name.endswith("LICENSE.txt") for name in package["sha256"]), package["name"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(STATIC)))
def test_nothing_is_ever_rendered_as_markup(path: Path) -> None:
    """No file makes elements of texts, runs texts, or reaches beyond its own server; pages have nothing inline."""
    text = path.read_text()
    assert not FORBIDDEN.search(text)
    if path.suffix == ".html":
        assert not re.search(r"\son\w+=|\sstyle=|<style|<script(?![^>]*\ssrc=)", text)
        assert not re.search(r'(?:src|href)="(?:/|[a-z]+:)', text)


def test_what_never_changes_is_kept_for_good(site: Site) -> None:
    """The page is asked for again by its version; what it needs has the version in its address."""
    page = site.client.get("")
    assert page.headers["content-type"].startswith("text/html")
    again = site.client.get("", headers={"If-None-Match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assets = re.findall(r'(?:src|href)="(assets/[^"]+)"', page.text)
    kinds = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml", "woff2": "font/woff2"}
    for asset in assets:
        answer = site.client.get(asset)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-type"].startswith(kinds[asset.rpartition(".")[2]])
    assert len(assets) > 20


@pytest.mark.parametrize("path", ["assets/old/app.js", "assets/{}/../index.html", "assets/{}/%2e%2e/__init__.py"])
def test_other_files_are_not_served(site: Site, path: str) -> None:
    """An old version, and whatever is not a file of the dashboard, is not there."""
    version = re.findall(r'"assets/([^/]+)/', site.client.get("").text)[0]
    assert site.client.get(path.format(version)).status_code == 404
