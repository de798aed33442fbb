"""Gzip: what is compressed, and what never is."""

import gzip
import re
from typing import Any

import httpx2
import pytest

from ..support.api import NIGHTLY, Api, api
from ..support.app import patiently


async def _sent(
    here: Api, path: str, accept: str = "gzip", method: str = "GET", **given: Any
) -> tuple[httpx2.Response, bytes]:
    """A response, and its body as it was sent."""
    headers = {"Accept-Encoding": accept}
    async with here.client.stream(method, path, headers=headers, **given) as answer:
        return answer, b"".join([part async for part in answer.aiter_raw()])


@pytest.mark.parametrize(
    ("accept", "is_zipped"),
    [
        ("gzip", True), ("br, gzip;q=0.5", True), ("deflate, *", True), ("GZIP", True), ("", False),
        ("gzip;q=0", False), ("gzip; q=0.000", False), ("br", False), ("gzipped", False),
    ],
)  # fmt: skip
@patiently
async def test_a_long_answer_is_compressed_for_who_accepts_it(accept: str, is_zipped: bool) -> None:
    """The same bytes come out; and caches are told what it depends on."""
    async with api() as here:
        answer, body = await _sent(here, "/api/v1/reasons", accept)
        plain, whole = await _sent(here, "/api/v1/reasons", "identity")
        assert (answer.headers.get("content-encoding") == "gzip") is is_zipped
        assert (gzip.decompress(body) if is_zipped else body) == whole
        assert int(answer.headers["content-length"]) == len(body)
        assert answer.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
        assert len(body) < len(whole) / 2 or not is_zipped


@patiently
async def test_very_long_answers_too() -> None:
    """They are compressed beside the event loop."""
    async with api() as here:
        for number in range(210):
            await here.post("/schedules", {**NIGHTLY, "name": f"n{number}"})
        answer, body = await _sent(here, "/api/v1/schedules?limit=1000")
        assert answer.headers["content-encoding"] == "gzip"
        assert len(gzip.decompress(body)) > 100_000 > 10 * len(body)


@patiently
async def test_what_is_never_compressed() -> None:
    """A secret, a short answer, one with an ETag, and a refusal."""
    async with api() as here:
        await here.post("/schedules", {**NIGHTLY, "params": {"x": "y" * 2_000}})
        token = {"name": "x" * 90, "role": "operator", "scopes": ["a" * 90 + str(n) for n in range(50)]}
        asked: list[tuple[str, str, dict[str, Any]]] = [
            ("POST", "/api/v1/tokens", {"json": token}), ("GET", "/api/v1/me", {}),
            ("GET", "/api/v1/schedules/nightly", {}), ("GET", "/api/v1/runs?q=" + "x" * 3_000, {}),
        ]  # fmt: skip
        for method, path, given in asked:
            answer, _ = await _sent(here, path, method=method, **given)
            assert "content-encoding" not in answer.headers, path
        assert len((await _sent(here, "/api/v1/schedules/nightly"))[1]) > 1_000


@patiently
async def test_files_of_the_dashboard() -> None:
    """The page and its modules; a browser that has the page is told so in either form."""
    async with api() as here:
        page, body = await _sent(here, "/")
        plain, whole = await _sent(here, "/", "identity")
        assert gzip.decompress(body) == whole
        assert page.headers["etag"] != plain.headers["etag"]
        for accept, tag in (("gzip", page.headers["etag"]), ("identity", plain.headers["etag"])):
            same = await here.client.get("/", headers={"If-None-Match": tag, "Accept-Encoding": accept})
            assert (same.status_code, same.headers["vary"]) == (304, "Accept-Encoding")
        for path in re.findall(rb'"(assets/[^"]+\.js)"', whole):
            answer, sent = await _sent(here, f"/{path.decode()}")
            _, as_is = await _sent(here, f"/{path.decode()}", "identity")
            zipped = answer.headers.get("content-encoding") == "gzip"
            assert (gzip.decompress(sent) if zipped else sent) == as_is
            assert zipped is (len(as_is) >= 1_000)
