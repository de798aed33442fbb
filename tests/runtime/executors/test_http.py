"""HTTP calls, against a real server."""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from tickwise.core.definition import HttpCall
from tickwise.core.errors import InputError
from tickwise.core.settle import Failed, Succeeded
from tickwise.runtime.executors.address import AddressPolicy, Reach
from tickwise.runtime.executors.http import send, tls
from tickwise.runtime.executors.result import AttemptResult

from ...support.executors import ExecutorHarness, ended, place, run

CERTIFICATE = Path(__file__).with_name("tls_example.pem")  # for the name tls.example, until 2120; with its key
NEAR = AddressPolicy(frozenset({Reach.LOOPBACK}))


@dataclass
class Web:
    """A server that does as the path says, and keeps what it was asked."""

    scheme: str
    port: int = 0
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    waiting: Event = field(default_factory=Event)

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"


class Handler(BaseHTTPRequestHandler):
    web: Web

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.web.asked.append((self.command, self.path, dict(self.headers), body))
        kind, _, rest = self.path[1:].partition("?")[0].partition("/")
        getattr(self, f"on_{kind}")(rest)

    do_GET = do_POST = answer  # noqa: N815 (the names are the library's)

    def on_status(self, rest: str) -> None:
        self.send_response(int(rest))
        self.end_headers()
        self.wfile.write(f"this is {rest}\nsecond line\n".encode())

    def on_to(self, rest: str) -> None:
        self.send_response(302)
        self.send_header("Location", rest)
        self.end_headers()

    def on_again(self, rest: str) -> None:
        self.send_response(307)
        self.send_header("Location", rest)
        self.end_headers()

    def on_around(self, rest: str) -> None:
        self.on_to(f"/around/{int(rest) + 1}")

    def on_flood(self, _rest: str) -> None:
        self.send_response(200)
        self.end_headers()
        with suppress(OSError):
            while True:
                self.wfile.write(b"all work and no play\n" * 1_000)

    def on_hang(self, _rest: str) -> None:
        self.web.waiting.set()
        self.rfile.read(1)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture(params=["http"])
def web(request: pytest.FixtureRequest) -> Iterator[Web]:
    shared = Web(request.param)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"web": shared}))
    server.daemon_threads = True
    if shared.scheme == "https":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    shared.port = server.server_port
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield shared
    server.shutdown()
    thread.join()
    server.server_close()


def sent(call: HttpCall, there: ExecutorHarness | None = None, policy: AddressPolicy = NEAR) -> AttemptResult:
    return run(send(call, (there or place(addresses=policy)).context))


def names_are(monkeypatch: pytest.MonkeyPatch, addresses: list[str]) -> list[str]:
    """Let names be these addresses, one after the other; the names that were asked for."""
    asked: list[str] = []

    async def resolve(_loop: Any, host: str, port: int, **_: Any) -> list[Any]:
        address = host
        if not host[0].isdigit():
            asked.append(host)
            address = addresses.pop(0)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "getaddrinfo", resolve)
    return asked


def test_a_status_below_400_is_a_success(web: Web) -> None:
    """The request goes out as written; its answer is logged and a status below 400 is a success."""
    there = place(addresses=NEAR)
    call = HttpCall(web.url("/status/201"), "POST", {"X-Job": "backup"}, "döne")
    assert sent(call, there) == AttemptResult(Succeeded())
    ((method, path, headers, body),) = web.asked
    assert (method, path, headers["X-Job"], body.decode()) == ("POST", "/status/201", "backup", "döne")
    assert there.lines == ["this is 201", "second line"]
    assert there.witness.said("tickwise") == [f"POST {web.url('/status/201')}: 201 Created"]


def test_the_server_learns_which_run_it_serves(web: Web) -> None:
    """A request tells run, slot, trigger and attempt in its headers, as a command finds them in its variables."""
    sent(HttpCall(web.url("/status/200")))
    headers = web.asked[0][2]
    assert {name: value for name, value in headers.items() if name.startswith("Tickwise-")} == {
        "Tickwise-Run-Id": "17",
        "Tickwise-Job": "etl",
        "Tickwise-Schedule": "nightly",
        "Tickwise-Slot": "1970-01-01T01:00:00Z",
        "Tickwise-Previous-Slot": "1970-01-01T00:00:00Z",
        "Tickwise-Trigger": "schedule",
        "Tickwise-Attempt": "2",
    }


def test_a_bad_status_is_a_failure_with_the_answer(web: Web) -> None:
    """A status of 400 or more fails, with the beginning of the answer and without the address's secrets."""
    url = web.url("/status/503?token=secret").replace("//", "//user:secret@")
    web_error = sent(HttpCall(url))
    assert web_error.outcome == Failed()
    assert "503 Service Unavailable\nthis is 503\nsecond line" in web_error.error
    assert "secret" not in web_error.error


@pytest.mark.parametrize("kind", ["to", "again"])
def test_a_redirect_elsewhere_gets_no_secrets(web: Web, kind: str) -> None:
    """B14: the headers and the body of a step go to the origin that it names, and to no other."""
    secrets = {"X-Api-Key": "s1", "Authorization": "s2", "Cookie": "s3", "X-Other": "s4"}
    far = web.url("/status/200", host="localhost")
    assert sent(HttpCall(web.url(f"/{kind}/{far}"), "POST", secrets, "s5")).succeeded
    near, other = web.asked
    assert (near[2]["X-Api-Key"], near[3]) == ("s1", b"s5")
    assert not {"s1", "s2", "s3", "s4"} & set(other[2].values())
    assert (other[3], "Tickwise-Run-Id" in other[2]) == (b"", False)


def test_a_redirect_on_one_origin_keeps_them(web: Web) -> None:
    """B14: a request that is sent again there is the same."""
    assert sent(HttpCall(web.url("/again//status/200"), "POST", {"X-Api-Key": "s1"}, "s5")).succeeded
    assert [(asked[2]["X-Api-Key"], asked[3]) for asked in web.asked] == [("s1", b"s5")] * 2


def test_redirects_are_followed_but_not_for_ever(web: Web) -> None:
    """A redirect is followed, five of them at most."""
    assert sent(HttpCall(web.url("/to//status/200"))) == AttemptResult(Succeeded())
    around = sent(HttpCall(web.url("/around/0")))
    assert "redirected more than 5 times" in around.error
    assert len([path for _, path, _, _ in web.asked if path.startswith("/around")]) == 6


def test_the_policy_holds_for_every_address_on_the_way(web: Web) -> None:
    """A refused address is not asked at all, neither directly nor through a redirect."""
    with pytest.raises(InputError, match=r"127.0.0.1 is 127.0.0.1 \(loopback\)"):
        sent(HttpCall(web.url("/status/200")), policy=AddressPolicy())
    assert web.asked == []
    with pytest.raises(InputError, match=r"169.254.169.254 \(cloud metadata\)"):
        sent(HttpCall(web.url("/to/http://169.254.169.254/latest/meta-data")))


def test_a_name_that_changes_its_mind_gains_nothing(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is connected to is what was checked: a name is resolved once, and never asked for again."""
    asked = names_are(monkeypatch, ["127.0.0.1", "169.254.169.254"])
    assert sent(HttpCall(web.url("/status/200", "rebinding.example"))) == AttemptResult(Succeeded())
    assert asked == ["rebinding.example"]
    assert web.asked[0][2]["Host"] == f"rebinding.example:{web.port}"


@pytest.mark.parametrize("web", ["https"], indirect=True)
def test_a_certificate_is_checked_against_the_name(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over TLS the server must prove the name of the address as written, although its number is connected to."""
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    tls.cache_clear()
    names_are(monkeypatch, ["127.0.0.1", "127.0.0.1"])
    assert sent(HttpCall(web.url("/status/200", "tls.example"))) == AttemptResult(Succeeded())
    impostor = sent(HttpCall(web.url("/status/200", "other.example")))
    tls.cache_clear()
    assert "CERTIFICATE_VERIFY_FAILED" in impostor.error
    assert len(web.asked) == 1


def test_the_next_address_is_tried_if_one_does_not_answer(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host with several addresses is reached as long as one of them answers."""

    async def resolve(_policy: AddressPolicy, _host: str, _port: int) -> list[str]:
        return ["::1", "127.0.0.1"]

    monkeypatch.setattr(AddressPolicy, "resolve", resolve)
    assert sent(HttpCall(web.url("/status/200", "localhost"))) == AttemptResult(Succeeded())


def test_a_long_answer_is_cut(web: Web) -> None:
    """An answer without an end is read up to a bound, and that is said."""
    there = place(addresses=NEAR)
    assert sent(HttpCall(web.url("/flood/")), there) == AttemptResult(Succeeded())
    assert sum(len(line) for line in there.lines) < 200_000
    assert "the rest is left out" in there.witness.said("tickwise")[-1]


def test_nobody_there_is_a_failure() -> None:
    """A server that cannot be reached is a failure that names it, not an exception."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    nobody = sent(HttpCall(f"http://127.0.0.1:{port}/x"))
    assert nobody.outcome == Failed()
    assert f"GET http://127.0.0.1:{port}/x: " in nobody.error


def test_a_server_that_does_not_answer_is_a_failure(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request without a timeout of its own is not waited for endlessly."""
    monkeypatch.setattr("tickwise.runtime.executors.http._RESPONSE_TIMEOUT", 0.01)
    assert sent(HttpCall(web.url("/hang/"))).error == f"GET {web.url('/hang/')}: no answer in time (ReadTimeout)"


def test_cancelling_hangs_up(web: Web) -> None:
    """A request that is cancelled while it waits for its answer ends at once."""

    async def cancelling() -> None:
        task = asyncio.create_task(send(HttpCall(web.url("/hang/")), place(addresses=NEAR).context))
        await asyncio.to_thread(web.waiting.wait)
        await ended(task)

    run(cancelling())


def test_given_headers_win_whatever_their_case(web: Web) -> None:
    """A header that the job gives replaces ours; one that is not ASCII is refused."""
    sent(HttpCall(web.url("/status/200"), headers={"TICKWISE-JOB": "mine"}))
    assert [value for name, value in web.asked[0][2].items() if name.lower() == "tickwise-job"] == ["mine"]
    with pytest.raises(InputError, match="must be plain ASCII"):
        sent(HttpCall(web.url("/status/200"), headers={"X-Name": "Zoë"}))


def test_what_is_no_address_is_refused() -> None:
    """A text that is no web address is told as that."""
    with pytest.raises(InputError, match="is not a web address"):
        sent(HttpCall("http://[::1/x"))
