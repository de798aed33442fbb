"""What is too large, too deep or not what it says it is gets a clear no, and changes nothing."""

import json
from collections.abc import AsyncIterator

import pytest

from tickwise.api.auth_settings import AuthSettings
from tickwise.api.middleware import MAX_BODY
from tickwise.app.health import NOT_READY, Readiness
from tickwise.app.stores import StoreOfLoop
from tickwise.stores.contract import StoreUnavailableError

from ..support.api import NIGHTLY, api, problem_of
from ..support.app import patiently

JSON = {"Content-Type": "application/json"}


@patiently
async def test_an_oversized_body_is_refused_by_its_length() -> None:
    """More than 1 MiB is not read at all."""
    async with api() as here:
        answer = await here.ask("POST", "/schedules", content=b"x" * (MAX_BODY + 1), headers=JSON)
        problem_of(answer, 413)


@patiently
async def test_a_body_that_hides_its_length_is_counted() -> None:
    """A body that comes in pieces is cut off where it becomes too large."""

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b" " * 65_536

    async with api() as here:
        problem_of(await here.ask("POST", "/schedules", content=pieces(), headers=JSON), 413)


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/schedules?text=" + "x" * 9_000, {}, 414),
        ("/" + "x" * 3_000, {}, 414),
        ("/me", {"X-A": "x" * 20_000}, 431),
    ],
)
@patiently
async def test_long_addresses_and_headers_are_refused(path: str, headers: dict[str, str], status: int) -> None:
    """What is longer than any honest request is refused before it is looked at."""
    async with api() as here:
        problem_of(await here.ask("GET", path, headers=headers), status)


BODIES = [
    (b"{", "not JSON"),
    (b"\xff\xfe", "not UTF-8"),
    (b"[" * 100_000, "deeply"),
    (b'{"name":' * 60 + b"1" + b"}" * 60, "nested deeper"),
    (b'{"name": NaN}', "nan"),
    (b'{"name": "a\\u0000b"}', "NUL"),
    (b'{"name": "a\\ud800b"}', "surrogate"),
    (b'{"priority": 99999999999999999999}', "64 bits"),
    (b'{"priority": ' + b"9" * 5_000 + b"}", "too long"),
    (b"[]", "dictionary"),
    (b"{}", "at least 1 item"),
]


@pytest.mark.parametrize(("body", "why"), BODIES)
@patiently
async def test_what_no_store_could_keep_is_refused(body: bytes, why: str) -> None:
    """Malformed, deep and unstorable JSON is told what is wrong with it."""
    async with api() as here:
        answer = await here.ask("POST", "/schedules", content=body, headers=JSON)
        assert why in problem_of(answer, 422)["detail"]
        assert (await here.get("/schedules"))["items"] == []


@patiently
async def test_only_json_is_read() -> None:
    """A form that a page of somebody else could send is not taken for JSON."""
    async with api() as here:
        for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
            headers = {"Content-Type": kind}
            problem_of(await here.ask("PUT", "/pause", content=b"{}", headers=headers), 415)
        assert (await here.get("/pause"))["paused"] is None


NAMES = [
    "..%2f..%2fetc%2fpasswd",
    "..",
    "a%00b",
    "a'%20OR%201=1--",
    "%F0%9F%92%A5",
    "x" * 101,
    "-x",
    "a%2Fb",
    "$ne",
]


@pytest.mark.parametrize("name", NAMES)
@patiently
async def test_a_name_that_cannot_be_one_leads_nowhere(url: str, name: str) -> None:
    """Traversal, injection and long names in an address are not found, whichever store is behind it."""
    async with api(url) as here:
        for path in (f"/schedules/{name}", f"/runs/{name}", f"/jobs/{name}/", f"/schedules/{name}/why"):
            assert (await here.ask("GET", path)).status_code == 404


@pytest.mark.parametrize("name", ["../x", "a b", "", "x" * 101, "a\u200bb", ".x"])
@patiently
async def test_a_name_that_cannot_be_one_is_not_given(name: str) -> None:
    """The same names in a body are refused, and nothing is made."""
    async with api() as here:
        problem_of(await here.ask("POST", "/schedules", json={**NIGHTLY, "name": name}), 422)
        assert (await here.get("/schedules"))["items"] == []


@pytest.mark.parametrize("run", ["0", "99999999999999999999999", "1e5", "abc"])
@patiently
async def test_an_id_that_nobody_has_is_not_found(url: str, run: str) -> None:
    """Ids that are no numbers, or too large ones, are simply not there."""
    async with api(url) as here:
        for path in (f"/runs/{run}", f"/runs/{run}/logs", f"/runs/{run}/why"):
            problem_of(await here.ask("GET", path), 404)


@pytest.mark.parametrize(
    "path", ["/runs?nonsense=1", "/schedules?limit=0", "/runs?state=done", "/runs?since=today"]
)
@patiently
async def test_an_unknown_filter_is_refused(path: str) -> None:
    """A filter that is misspelt is not silently left out."""
    async with api() as here:
        found = problem_of(await here.ask("GET", path), 422)
        assert found["field"].partition(".")[0] in ("nonsense", "limit", "state", "since")


@patiently
async def test_unknown_addresses_and_methods_are_problems() -> None:
    """What is not there says so in the same shape as everything else, with the methods that there are."""
    async with api() as here:
        problem_of(await here.ask("GET", "/nothing"), 404)
        answer = await here.ask("PUT", "/schedules")
        assert answer.headers["allow"] == "GET, HEAD, POST"
        problem_of(answer, 405)
        problem_of(await here.client.get("/docs"), 404)


@patiently
async def test_a_fault_of_ours_tells_an_id_only() -> None:
    """What nobody expected is a 500 with an id, and nothing of the inside."""
    async with api() as here:

        async def broken() -> Readiness:
            raise RuntimeError("the password is hunter2")

        here.app.state.readiness = broken
        found = problem_of(await here.client.get("/readyz"), 500)
        assert found["id"] in found["detail"]
        assert "hunter2" not in json.dumps(found)


@patiently
async def test_a_store_that_does_not_answer_is_no_fault_of_the_caller() -> None:
    """503, in the shape of everything else."""
    async with api() as here:

        async def away() -> StoreOfLoop:
            raise StoreUnavailableError("the store did not answer")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(here.tickwise, "opened", away)
            problem_of(await here.ask("GET", "/me"), 503)


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz", "/metrics", "/api/v1/schedules", "/api/v1/events"])
@patiently
async def test_head_is_answered_wherever_get_is(path: str) -> None:
    """With the same status and headers, and without a body; of a stream too (A32)."""
    async with api() as here:
        answer = await here.client.head(path)
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer.headers["content-type"]
        missing = await here.client.head(f"{path.rstrip('/')}/none/none")
        assert (missing.status_code, missing.content) == (404, b"")


@patiently
async def test_tls_is_remembered() -> None:
    """Over TLS a browser is told to come back over TLS only; without TLS that would mean nothing (B14)."""
    async with api() as here:
        for url, told in (("https://localhost", True), ("http://localhost", False)):
            answer = await here.client.get(f"{url}/healthz")
            assert ("strict-transport-security" in answer.headers) is told


@patiently
async def test_who_is_not_ready_says_so() -> None:
    """What balances load sees 503, without a token."""
    async with api(access=AuthSettings()) as here:

        async def not_yet() -> Readiness:
            return NOT_READY

        here.app.state.readiness = not_yet
        answer = await here.client.get("/readyz", headers={"Host": "10.0.0.7"})
        assert (answer.status_code, answer.json()) == (503, {"status": "not ready"})


@patiently
async def test_the_schema_has_examples_and_refusals() -> None:
    """Each operation has a name of its own, says what it refuses, and requests come with examples."""
    async with api() as here:
        schema = (await here.client.get("/openapi.json")).json()
        operations = [one for path in schema["paths"].values() for one in path.values()]
        names = [one["operationId"] for one in operations]
        assert len(set(names)) == len(names) > 40
        assert all("4XX" in one["responses"] for one in operations)
        definition = schema["components"]["schemas"]["DefinitionRequest"]
        assert definition["examples"][0]["schedule"] == "0 3 * * *"


@patiently
async def test_every_answer_is_guarded() -> None:
    """Browsers are told not to sniff, frame, cache or load anything from elsewhere, on refusals as well."""
    async with api() as here:
        for path in ("/api/v1/me", "/api/v1/nothing", "/healthz", f"/{'x' * 3_000}"):
            headers = (await here.client.get(path)).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == "no-store"
            assert headers["referrer-policy"] == "no-referrer"
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
            assert headers["content-security-policy"].startswith("default-src 'self'")


@patiently
async def test_it_works_under_a_sub_path() -> None:
    """Behind a proxy that serves it under /tick, addresses are found, and told as people reach them."""
    async with api(root_path="/tick") as here:
        for path in ("/tick/api/v1/me", "/api/v1/me"):  # proxies pass the path on as it is, or shortened
            assert (await here.client.get(path)).status_code == 200
        made = await here.client.post("/tick/api/v1/schedules", json=NIGHTLY)
        assert made.headers["location"] == "/tick/api/v1/schedules/nightly"
        await here.client.post("/tick/api/v1/schedules", json={**NIGHTLY, "name": "other"})
        page = await here.client.get("/tick/api/v1/schedules?limit=1")
        assert page.headers["link"] == '</tick/api/v1/schedules?limit=1&after=nightly>; rel="next"'
        assert (await here.client.put("/tick/api/v1/jobs")).headers["allow"] == "GET, HEAD"
