"""`/`: the dashboard. Its files are read once, and found by name in a table, never on the disk.

Browsers revalidate the page itself each time (`ETag`). All other files have the version of the whole site in their
address, so that browsers cache them for good and never mix a new version with an old one.
"""

import re
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from posixpath import dirname, join, normpath
from typing import NamedTuple

from fastapi import Request, Response

from ..compression import HEADERS, MIN_SIZE, accepts_gzip, compress
from ..problems import Refusal
from ..routing import Router

router = Router("dashboard")
_PAGE = "index.html"
_PAGE_MODULE, _IMPORT = re.compile(r'"assets/([^"]+\.js)"'), re.compile(r'from "(\.[^"]+)"')
_TYPES = {
    "html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "woff2": "font/woff2",
}  # fmt: skip
_WORTH = 0.9  # of its size; a font is compressed already
_IMMUTABLE = {"Cache-Control": "public, max-age=31536000, immutable"}


class _Site(NamedTuple):
    """All files, those that gzip makes smaller also compressed, and a hash of them."""

    files: dict[str, bytes]
    gzipped: dict[str, bytes]
    version: str


@router.get("/", None, include_in_schema=False)
async def dashboard(request: Request) -> Response:
    """The page."""
    site = _site()
    zipped = accepts_gzip(request)
    tag = f'"{site.version}{"-gzip" if zipped else ""}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache", "Vary": HEADERS["Vary"]}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    page = _pages()[zipped]
    return Response(page, headers={**headers, **(HEADERS if zipped else {})}, media_type=_TYPES["html"])


@router.get("/assets/{version}/{name:path}", None, include_in_schema=False)
async def asset(version: str, name: str, request: Request) -> Response:
    """A file of the page."""
    site = _site()
    if version != site.version or name not in site.files:
        raise Refusal(404, "the dashboard has no such file, or not any longer: reload the page")
    headers, body = _IMMUTABLE, site.files[name]
    if name in site.gzipped:
        headers = {**headers, "Vary": HEADERS["Vary"]}
        if accepts_gzip(request):
            headers, body = {**headers, **HEADERS}, site.gzipped[name]
    return Response(body, headers=headers, media_type=_TYPES[name.rpartition(".")[2]])


@cache
def _pages() -> tuple[bytes, bytes]:
    """The page as it is, and compressed."""
    page = _page(_site())
    return page, compress(page)


def _page(site: _Site) -> bytes:
    """The page with the version in its addresses, and links that preload what its modules import."""
    page = site.files[_PAGE].decode()
    links = "".join(f'<link rel="modulepreload" href="assets/{name}">\n' for name in _preloaded(site, page))
    return page.replace("</head>", f"{links}</head>").replace('"assets/', f'"assets/{site.version}/').encode()


def _preloaded(site: _Site, page: str) -> list[str]:
    """The modules that those in the page import, and so on."""
    named = _PAGE_MODULE.findall(page)
    needed = list(named)
    for name in needed:  # which grows meanwhile
        imported = (normpath(join(dirname(name), one)) for one in _IMPORT.findall(site.files[name].decode()))
        needed += [one for one in imported if one not in needed]
    return sorted({*needed} - {*named})


@cache
def _site() -> _Site:
    found = dict(sorted(_read_files(files("tickwise") / "web" / "static").items()))
    digest = sha256()
    for name, content in found.items():
        digest.update(b"%b\0%d\0%b" % (name.encode(), len(content), content))
    large = {name: compress(content) for name, content in found.items() if len(content) >= MIN_SIZE}
    gzipped = {name: content for name, content in large.items() if len(content) < len(found[name]) * _WORTH}
    return _Site(found, gzipped, digest.hexdigest()[:16])


def _read_files(folder: Traversable, prefix: str = "") -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for one in folder.iterdir():
        name = prefix + one.name
        if one.is_dir():
            found |= _read_files(one, f"{name}/")
        elif name.rpartition(".")[2] in _TYPES:
            found[name] = one.read_bytes()
    return found
