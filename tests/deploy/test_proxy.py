"""nginx and Caddy, with the files of deploy/proxy, in front of a live API."""

import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TypeAlias

import httpx2
import pytest

from tickwise.api.auth_settings import AuthSettings
from tickwise.api.server import listen, serve_app
from tickwise.api.token_file import digest
from tickwise.stores.access_records import AccessRole, Token

from ..support.api import Api, api
from ..support.app import patiently
from ..support.servers.process import free_port, own_folder, running

PROXY = Path(__file__).parents[2] / "deploy" / "proxy"
HOST = "tick.example.com"
CERTIFICATE = Path(__file__).parents[1] / "api" / "certificate"
SECRET = "tw_" + "a" * 40
SIGNED_IN = {"Authorization": f"Bearer {SECRET}"}
Start: TypeAlias = Callable[[int, int], AbstractContextManager[str]]


def _read(name: str, **replaced: str) -> str:
    """A file of deploy/proxy with addresses and paths of this machine; each must be in it."""
    text = (PROXY / name).read_text("utf-8")
    for old, new in replaced.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


@contextmanager
def nginx(port: int, behind: int) -> Iterator[str]:
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program, "install nginx-light: the file for nginx is tried with it"
    text = _read("nginx.conf", **{
        "listen 443": f"listen 127.0.0.1:{port}",
        "127.0.0.1:8484": f"127.0.0.1:{behind}",
        "/etc/tickwise/tls.pem": f"{CERTIFICATE}/certificate.pem",
        "/etc/tickwise/tls.key": f"{CERTIFICATE}/key.pem",
    })  # fmt: skip
    with own_folder() as folder:
        folders = "".join(
            f"{kind}_temp_path {folder}/{kind}; " for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        frame = f"daemon off; pid {folder}/pid; error_log stderr notice; events {{}}\nhttp {{ access_log off;"
        (folder / "nginx.conf").write_text(f"{frame} {folders}\n{text}}}\n")
        command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf")]
        with running(command, folder, ready="start worker process", end=signal.SIGQUIT):
            yield f"https://{HOST}:{port}"


@contextmanager
def caddy(port: int, behind: int) -> Iterator[str]:
    program = shutil.which("caddy")
    assert program, "install caddy: its file is tried with it"
    text = _read("Caddyfile", **{
        f"{HOST} {{": f"http://{HOST}:{port} {{\n\tbind 127.0.0.1", "127.0.0.1:8484": f"127.0.0.1:{behind}",
    })  # fmt: skip
    with own_folder() as folder:
        (folder / "Caddyfile").write_text(f"{{\n\tadmin off\n\tgrace_period 1s\n\tauto_https off\n}}\n{text}")
        home = [shutil.which("env") or "env", f"HOME={folder}", f"XDG_DATA_HOME={folder}"]
        command = [*home, program, "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
        with running(command, folder, ready="serving initial configuration", end=signal.SIGTERM):
            yield f"http://{HOST}:{port}"


@asynccontextmanager
async def proxied(start: Start) -> AsyncIterator[tuple[Api, httpx2.AsyncClient]]:
    """An API behind a proxy, and a client that knows the address of the proxy's name."""
    access = AuthSettings(hosts=(HOST,), trusted_proxies=("127.0.0.1",))
    async with api(access=access) as here:
        await (await here.store()).access.issue(Token("1", "proxied", AccessRole.ADMIN), digest(SECRET))
        listener = listen("127.0.0.1", 0)
        behind, port = listener.getsockname()[1], free_port()
        async with serve_app(here.app, listener, here.tickwise.settings):
            with start(port, behind) as address:
                host = address.split("://")[1]
                transport = httpx2.AsyncHTTPTransport(verify=False)
                local = address.replace(HOST, "127.0.0.1")
                headers = {"Host": host.split(":")[0]}
                async with httpx2.AsyncClient(
                    transport=transport, base_url=local, headers=headers, timeout=60
                ) as client:
                    yield here, client


@pytest.fixture(params=[nginx, caddy], ids=lambda start: start.__name__)
def start(request: pytest.FixtureRequest) -> Start:
    made: Start = request.param
    return made


@patiently
async def test_requests_pass_and_need_a_token(start: Start) -> None:
    """Health needs no token, the rest does: coming from the proxy's address is no role (B1)."""
    async with proxied(start) as (_, client):
        assert (await client.get("/healthz")).status_code == 200
        assert (await client.get("/api/v1/schedules")).status_code == 401
        answer = await client.get("/api/v1/schedules", headers=SIGNED_IN)
        assert answer.status_code == 200
        assert answer.headers["Strict-Transport-Security"]


@patiently
async def test_other_host_names_do_not_pass(start: Start) -> None:
    """A page of another name does not reach the API, nor does a forged X-Forwarded-Host help it."""
    async with proxied(start) as (_, client):
        forged = {**SIGNED_IN, "X-Forwarded-Host": "evil.example.com"}
        assert (await client.get("/api/v1/me", headers=forged)).status_code == 200  # the proxy dropped it
        answer = await client.get("/api/v1/me", headers={**SIGNED_IN, "Host": "evil.example.com"})
        assert answer.status_code != 200 or not answer.content


@patiently
async def test_events_are_not_held_back(start: Start) -> None:
    """The first event of a stream arrives while the stream is open."""
    async with (
        proxied(start) as (_, client),
        client.stream("GET", "/api/v1/events", headers={**SIGNED_IN, "Accept": "text/event-stream"}) as stream,
    ):
        assert stream.status_code == 200
        lines = stream.aiter_lines()
        made = await client.post(
            "/api/v1/schedules", headers=SIGNED_IN, json={"name": "one", "schedule": "@daily", "command": "true"}
        )
        assert made.status_code == 201
        async for line in lines:
            if line.startswith("event: schedule"):
                return
        pytest.fail("the stream ended without the event")
