"""Attacks that once worked, each played against a live server: raw requests, servers of other users, floods.

The number in each docstring is that of the finding. Details of each defence are tested beside its code; here the
whole is attacked, as it is served.
"""

import asyncio
import getpass
import json
import os
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn

import httpx2
import pytest
from structlog.testing import capture_logs

from tickwise.api import local_peer
from tickwise.api.app import make_api
from tickwise.api.auth_settings import auth_settings, load_auth
from tickwise.api.local_peer import local_listener
from tickwise.api.server import listen, serve_app
from tickwise.app import AsyncTickwise
from tickwise.cli.client import connect
from tickwise.cli.sender import ApiTarget
from tickwise.core.errors import InputError, TickwiseError
from tickwise.sign_on_settings import read_oidc, read_trusted_header

from ..support.app import patiently
from ..support.ownership import SOMEBODY, give_away

pytestmark = pytest.mark.usefixtures("own_folder")
HEAVY = {
    "definition": {"schedule": [f"{minute} * * * *" for minute in range(60)], "command": "true"},
    "start": "2026-01-01T00:00:00Z", "end": "2026-01-06T00:00:00Z", "run_time": "10m",
}  # fmt: skip

OTHER_USERS = [SOMEBODY] if os.geteuid() == 0 else []  # only root can be somebody else
SHELLS: list[list[str]] = [  # X is the param
    ["sh", "-c", "X"], ["bash", "-ce", "X"], ["bash", "-c", "--", "X"], ["bash", "-o", "errexit", "-c", "X"],
    ["env", "sh", "-c", "X"], ["env", "A=1", "sh", "-c", "X"], ["timeout", "5", "sh", "-c", "X"],
    ["nice", "sh", "-c", "X"], ["flock", "lock", "-c", "X"], ["script", "-qc", "X"], ["su", "app", "-c", "X"],
    ["busybox", "sh", "-c", "X"], ["xargs", "sh", "-c", "X"], ["find", ".", "-exec", "sh", "-c", "X", ";"],
    ["ssh", "host", "X"], ["python3", "-c", "X"], ["perl", "-e", "X"], ["awk", "X"],
]  # fmt: skip


class Target(NamedTuple):
    """A server as it is served, on a port and on its socket."""

    tickwise: AsyncTickwise
    address: str
    port: int
    admin: str

    def client(self, token: str | None = None, **headers: str) -> httpx2.AsyncClient:
        given = {**headers, **({"Authorization": f"Bearer {token}"} if token else {})}
        return httpx2.AsyncClient(base_url=self.address, headers=given, timeout=60, trust_env=False)

    async def token(self, role: str, *scopes: str) -> str:
        async with self.client(self.admin) as admin:
            body = {"name": f"{role} {len(scopes)}", "role": role, "scopes": scopes}
            return str((await admin.post("/api/v1/tokens", json=body)).json()["secret"])


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TICKWISE_TOKEN", raising=False)


@asynccontextmanager
async def served(**settings: Any) -> AsyncIterator[Target]:
    async with AsyncTickwise("sqlite:///.tickwise/tickwise.db", **settings) as tickwise:
        loaded = await load_auth(await tickwise.store(), tickwise.settings)
        api = make_api(tickwise, access=auth_settings(tickwise.settings))
        listener = listen("127.0.0.1", 0)
        port = listener.getsockname()[1]
        with local_listener(tickwise.settings, port) as local:
            async with serve_app(api, listener, tickwise.settings, local):
                yield Target(tickwise, f"http://127.0.0.1:{port}", port, loaded.file.read_text().strip())


@asynccontextmanager
async def plain_proxy(target: Target) -> AsyncIterator[str]:
    """What `proxy_pass` of nginx does and nothing else: bytes from anybody to the server, and no header more."""

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, sink = await asyncio.open_connection("127.0.0.1", target.port)
        await asyncio.gather(_copy(reader, sink), _copy(upstream, writer))

    server = await asyncio.start_server(forward, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


@pytest.mark.parametrize("proxies", [(), ("127.0.0.1",)])
@patiently
async def test_a_plain_proxy_makes_nobody_an_operator(proxies: tuple[str, ...]) -> None:
    """Neither behind a proxy that adds no header, nor straight from loopback, has anybody a role (B1)."""
    async with served(trusted_proxies=proxies) as target, plain_proxy(target) as proxy:
        for address in (proxy, target.address):
            async with httpx2.AsyncClient(base_url=address, trust_env=False) as anybody:
                for method, path in (("GET", "/api/v1/runs"), ("PUT", "/api/v1/pause"), ("GET", "/metrics")):
                    assert (await anybody.request(method, path)).status_code == 401


def _mode(target: Target) -> int | None:
    path = Path(f".tickwise/api-{target.port}.sock")
    return path.stat().st_mode & 0o777 if path.exists() else None


@patiently
async def test_the_socket_knows_its_user() -> None:
    """On the unix socket the kernel says who asks; behind a proxy on it nobody is that user (B1)."""
    async with served() as target:
        transport = httpx2.AsyncHTTPTransport(uds=f".tickwise/api-{target.port}.sock")
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as own:
            me = (await own.get("/api/v1/me")).json()
            assert (me["name"], me["role"]) == (getpass.getuser(), "admin")
            assert (await own.get("/api/v1/me", headers={"X-Forwarded-For": "192.0.2.1"})).status_code == 401
        assert _mode(target) == 0o600
    assert _mode(target) is None


@patiently
async def test_a_failing_request_leaves_no_token_in_the_log(capfd: pytest.CaptureFixture[str]) -> None:
    """A 500 prints a traceback without the variables that hold the token (B3)."""
    async with served() as target, target.client(target.admin) as admin:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(target.tickwise, "upcoming", None)
            assert (await admin.get("/api/v1/upcoming")).status_code == 500
    assert target.admin not in "".join(capfd.readouterr())


@patiently
async def test_a_flood_of_half_open_connections_stops_nobody() -> None:
    """Two thousand of them, and an honest request is answered; the log has a line, not a flood (B4)."""
    async with served() as target:
        with capture_logs() as logged:
            held = [await asyncio.open_connection("127.0.0.1", target.port) for _ in range(2_000)]
            async with target.client(target.admin) as admin:
                assert (await admin.get("/api/v1/me")).status_code == 200
            for _, writer in held:
                writer.close()
        assert len(logged) <= 1


@patiently
async def test_an_endless_header_is_cut_off() -> None:
    """Its sender gets 431 after kilobytes, not after hundreds of megabytes (B5)."""
    async with served() as target:
        reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: " + b"a" * 200_000)
        assert (await reader.read(13)) == b"HTTP/1.1 431 "
        writer.close()


@pytest.mark.parametrize(
    "planted", [".tickwise", ".tickwise/admin.token", ".tickwise/tickwise.db", "tickwise.toml"]
)
@patiently
async def test_what_another_user_could_have_planted_is_not_used(planted: str, tmp_path: Path) -> None:
    """A state folder, token, database or file of settings that others may write stops the start (B6)."""
    _plant(tmp_path / planted)
    with pytest.raises(TickwiseError, match="not used"):
        async with served():
            pass


def _plant(path: Path, mode: int = 0o777) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    if path.suffix:
        path.write_text("")
    else:
        path.mkdir(exist_ok=True)
    path.chmod(mode)


@pytest.mark.parametrize(
    "planted", [".tickwise", ".tickwise/admin.token", ".tickwise/tickwise.db", "tickwise.toml"]
)
@patiently
async def test_what_belongs_to_another_user_is_not_used(
    planted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is one that only its owner may write, if the owner is another user (B6). Really so only as root."""
    _plant(tmp_path / planted, 0o700 if planted == ".tickwise" else 0o600)
    give_away(monkeypatch, tmp_path / planted)
    with pytest.raises(TickwiseError, match="not used: it belongs to another user"):
        async with served():
            pass


STEPS: list[dict[str, Any]] = [
    {"name": "a", "command": ["true"], "env": {"KEY": "secret-a"}},
    {"name": "b", "command": ["true"], "env": {"KEY": "secret-b"}},
    {"name": "c", "http": "https://u:secret-c@example.com/?api_key=secret-d"},
]


@patiently
async def test_what_was_hidden_comes_back_right() -> None:
    """Reversed steps keep their own secrets; a mask of nothing is refused, and changes nothing (B7)."""
    async with served() as target, target.client(target.admin) as admin:
        made = await admin.post("/api/v1/schedules", json={"name": "x", "schedule": "@daily", "steps": STEPS})
        shown = made.json()["definition"]["steps"]
        assert "secret-" not in str(shown)
        new = {"name": "new", "command": ["true"], "env": {"KEY": "(hidden)"}}
        for steps, status in (([new, *shown], 422), (shown[::-1], 200)):
            answer = await admin.patch("/api/v1/schedules/x", json={"steps": steps})
            assert answer.status_code == status, answer.text
        job = await (await target.tickwise.store()).insights.job("x")
        assert job is not None
        c, b, a = job.definition.steps
        assert (a.env, b.env) == ({"KEY": "secret-a"}, {"KEY": "secret-b"})
        assert c.action.url == STEPS[2]["http"]  # type: ignore[union-attr]


@patiently
async def test_what_is_hidden_is_hidden_everywhere() -> None:
    """No response holds a secret: definition, run, steps, log and error of a job that prints it (B8)."""
    body: dict[str, Any] = {
        "name": "x", "schedule": "@daily", "env": {"PASSPHRASE": "hunter2"}, "on": {"exit": "printenv PASSPHRASE"},
        "params": {"db": {"pwd": "hunter2", "access_key": "hunter2"}},
        "script": "printf hun; printf 'ter2\\n'; printenv TICKWISE_PARAM_DB; echo $PASSPHRASE >&2; exit 1",
    }  # fmt: skip
    async with served() as target, target.client(target.admin) as admin:
        assert (await admin.post("/api/v1/schedules", json=body)).status_code == 201
        given = {"params": {"db": {"pwd": "hunter2"}}}
        run = (await admin.post("/api/v1/schedules/x:trigger", json=given)).json()["id"]
        await target.tickwise.drain()
        async with target.client(await target.token("viewer")) as viewer:
            paths = ("schedules/x", "jobs/x", "runs", f"runs/{run}", f"runs/{run}/logs", "schedules/x/why")
            shown = [await viewer.get(f"/api/v1/{path}") for path in paths]
        shown.append(await admin.get("/api/v1/audit"))
        assert {answer.status_code for answer in shown} == {200}, [answer.text for answer in shown]
        assert not [answer.url for answer in shown if "hunter2" in answer.text]
        assert shown[4].text.count("(hidden)") >= 4


@patiently
async def test_params_reach_no_shell(tmp_path: Path) -> None:
    """A definition that would give a param to an interpreter is refused; a param is data to any program (B2)."""
    bad = f"$(touch {tmp_path}/executed); touch {tmp_path}/executed"
    async with served() as target, target.client(target.admin) as admin:
        for i, command in enumerate(SHELLS):
            for x in ("${params.x}", "echo ${params.x}"):
                words = [word.replace("X", x) for word in command]
                body = {"name": f"x{i}", "schedule": "@daily", "params": {"x": ""}, "command": words}
                answer = await admin.post("/api/v1/schedules", json=body)
                assert (answer.status_code, "cannot stand there" in answer.text) == (422, True), words
        harmless: tuple[dict[str, Any], ...] = (
            {"script": 'echo "$TICKWISE_PARAM_X"'},
            {"command": ["echo", "--", "${params.x}"]},
        )
        for i, action in enumerate(harmless):
            await admin.post("/api/v1/schedules", json={**action, "name": f"y{i}", "schedule": "@daily",
                                                        "params": {"x": ""}})  # fmt: skip
            await admin.post(f"/api/v1/schedules/y{i}:trigger", json={"params": {"x": bad}})
        await target.tickwise.drain()
        runs = (await admin.get("/api/v1/runs")).json()["items"]
        assert [run["state"] for run in runs] == ["succeeded", "succeeded"]
    assert not (tmp_path / "executed").exists()


@patiently
async def test_a_folder_of_a_step_is_no_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `json.py` in the folder where a function is called is not executed (B10)."""
    monkeypatch.setenv("PYTHONPATH", ".")
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "json.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')")
    steps = [{"name": "only", "python": "os:getcwd", "dir": str(folder)}]
    async with served() as target, target.client(target.admin) as admin:
        await admin.post("/api/v1/schedules", json={"name": "x", "schedule": "@daily", "steps": steps})
        run = (await admin.post("/api/v1/schedules/x:trigger", json={})).json()["id"]
        await target.tickwise.drain()
        assert (await admin.get(f"/api/v1/runs/{run}")).json()["state"] == "succeeded"
    assert not (tmp_path / "executed").exists()


@patiently
async def test_a_job_cannot_read_the_servers_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords of databases and clouds, and our own tokens, are in no job's environment (B14)."""
    for name in ("PGPASSWORD", "AWS_SESSION_TOKEN", "MONGODB_URI", "TICKWISE_TOKEN"):
        monkeypatch.setenv(name, "hunter2")
    async with served(pass_env=("MONGODB_URI",)) as target, target.client(target.admin) as admin:
        await admin.post("/api/v1/schedules", json={"name": "x", "schedule": "@daily", "command": "env"})
        run = (await admin.post("/api/v1/schedules/x:trigger", json={})).json()["id"]
        await target.tickwise.drain()
        log = (await admin.get(f"/api/v1/runs/{run}/logs?limit=1000")).json()["items"]
        names = {part["text"].partition("=")[0] for part in log}
        assert {"PATH", "MONGODB_URI"} <= names
        assert not names & {"PGPASSWORD", "AWS_SESSION_TOKEN", "TICKWISE_TOKEN"}


@patiently
async def test_wrong_tokens_lock_nobody_out() -> None:
    """However many wrong ones come from an address, the right one of that address passes (B9)."""
    async with served() as target, target.client() as client:
        for _ in range(15):
            await client.get("/api/v1/me", headers={"Authorization": "Bearer wrong"})
        right = {"Authorization": f"Bearer {target.admin}"}
        assert (await client.get("/api/v1/me", headers=right)).status_code == 200


@pytest.mark.parametrize("user", OTHER_USERS or [None], ids=["another user" if OTHER_USERS else "needs root"])
@patiently
async def test_a_real_server_of_another_user_gets_no_token(user: int | None, tmp_path: Path) -> None:
    """A process of another user hears nothing of the token: the kernel says whose it is (B11).

    Only root can start one. For others the test above plays it with a table of the kernel that is made up.
    """
    if user is None:
        return
    async with served():
        refused = pytest.raises(InputError, match="belongs to another user")
        with listening_as(user, tmp_path / "heard") as port, refused:
            async with connect(ApiTarget(f"http://127.0.0.1:{port}")) as client:
                await client.get("/me")
    assert (tmp_path / "heard").read_bytes() == b""


@contextmanager
def listening_as(user: int, heard: Path) -> Iterator[int]:
    """A process of a user, on a port of its own: it appends to a file what it is sent."""
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        _listen_for_ever(user, tell, heard.open("wb", buffering=0))
    try:
        with os.fdopen(told) as lines:
            os.close(tell)
            yield int(lines.readline())
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _listen_for_ever(user: int, tell: int, heard: IO[bytes]) -> NoReturn:
    try:
        os.setresuid(user, user, user)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            os.write(tell, f"{listener.getsockname()[1]}\n".encode())
            while True:
                heard.write(listener.accept()[0].recv(65_536))
    finally:
        os._exit(1)


@patiently
async def test_another_users_server_gets_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A listener of another user on our port is recognized before anything is sent to it (B11)."""
    async with served():
        heard: list[bytes] = []

        async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heard.append(await reader.read(65_536))
            writer.close()

        server = await asyncio.start_server(hear, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        table = tmp_path / "tcp"  # as the kernel would say it
        table.write_text(f"sl\n 0: 0100007F:{port:04X} 00000000:0000 0A 0:0 0:0 0 4242 0 1\n")
        monkeypatch.setattr(local_peer, "_TABLES", (table,))
        async with server:
            with pytest.raises(InputError, match="belongs to another user"):
                async with connect(ApiTarget(f"http://127.0.0.1:{port}")) as client:
                    await client.get("/me")
        assert heard == []


@patiently
async def test_there_is_no_scoped_admin() -> None:
    """Who may define what is executed can do everything: such a token is not made (B12)."""
    async with served() as target, target.client(target.admin) as admin:
        body = {"name": "half", "role": "admin", "scopes": ["etl-*"]}
        assert (await admin.post("/api/v1/tokens", json=body)).status_code == 422


@patiently
async def test_simulations_come_one_at_a_time() -> None:
    """A viewer who asks for many gets one; what would take long is refused (B13)."""
    async with served() as target, target.client(await target.token("viewer")) as viewer:
        answers = await asyncio.gather(*(viewer.post("/api/v1/simulate", json=HEAVY) for _ in range(8)))
        assert sorted({answer.status_code for answer in answers}) == [200, 429]
        wide = {**HEAVY, "definition": {"schedule": [f"{m} */2 * * *" for m in range(60)], "command": "true"}}
        long = {**wide, "end": "2026-12-31T00:00:00Z"}
        assert (await viewer.post("/api/v1/simulate", json=long)).status_code == 422


@patiently
async def test_a_forwarded_host_does_not_beat_the_host() -> None:
    """A rebound name is refused, whatever X-Forwarded-Host a client has added (B14)."""
    headers = {"Host": "evil.example", "X-Forwarded-Host": "localhost"}
    async with (
        served(trusted_proxies=("127.0.0.1",)) as target,
        target.client(target.admin, **headers) as client,
    ):
        assert (await client.get("/api/v1/me")).status_code == 403


@patiently
async def test_a_scoped_token_sees_nothing_of_the_whole() -> None:
    """Metrics, queues and workers are about all jobs (B14)."""
    async with served() as target, target.client(await target.token("operator", "etl-*")) as scoped:
        for path in ("/metrics", "/api/v1/queues", "/api/v1/workers"):
            assert (await scoped.get(path)).status_code == 403


@patiently
async def test_a_terminal_obeys_no_name() -> None:
    """`--json` escapes what a terminal would take for a command (B14)."""
    from tickwise.cli.output import print_json  # noqa: PLC0415  (beside its one use)

    with pytest.MonkeyPatch.context() as patch:
        written: list[str] = []
        patch.setattr("sys.stdout.write", written.append)
        print_json({"name": "\x9b2J\u202e\x7f"})
    text = "".join(written)
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert json.loads(text) == {"name": "\x9b2J\u202e\x7f"}


TRUSTING = {
    "user": "X-Forwarded-User", "groups": "X-Forwarded-Groups", "from": ["192.0.2.7"], "roles": {"admin": ["ops"]},
}  # fmt: skip
ROOT = {"X-Forwarded-User": "root", "X-Forwarded-Groups": "ops"}


@patiently
async def test_nobody_but_the_proxy_says_who_asks() -> None:
    """Neither from loopback, nor on the socket, nor with the proxy's address in a header, is anybody root."""
    header = read_trusted_header({**TRUSTING, "groups": "Remote-Groups"})
    async with served(trusted_header=header, trusted_proxies=("127.0.0.1",)) as target:
        for headers in (ROOT, {**ROOT, "X-Forwarded-For": "192.0.2.7", "X-Real-IP": "192.0.2.7"}):
            async with target.client(**headers) as anybody:
                assert (await anybody.get("/api/v1/me")).status_code == 401
        transport = httpx2.AsyncHTTPTransport(uds=f".tickwise/api-{target.port}.sock")
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as own:
            for name in ("X-Forwarded-User", "Remote-Groups"):
                assert (await own.get("/api/v1/me", headers={name: "ops"})).status_code == 401


@patiently
async def test_a_proxy_on_this_machine_adds_to_no_header_of_a_client() -> None:
    """If it passes on the client's header beside its own, the request is refused: raw bytes, both orders."""
    header = read_trusted_header({**TRUSTING, "from": ["127.0.0.1"], "user": "Remote-User"})
    async with served(trusted_header=header) as target:
        for given in (b"Remote-User: root\r\nREMOTE-USER: ada", b"remote-user: ada\r\nRemote-User: root"):
            reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
            writer.write(
                b"GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-Groups: ops\r\n%b\r\n\r\n" % given
            )
            assert (await reader.read(13)) == b"HTTP/1.1 401 "
            writer.close()


@patiently
async def test_a_form_of_another_site_signs_nobody_in() -> None:
    """Sign-on begins and ends in a page of ours: no form, no image and no link of another does either."""
    oidc = read_oidc({"issuer": "http://127.0.0.1:9", "client_id": "x", "roles": {"admin": ["ops"]}})
    async with served(oidc=oidc) as target, target.client() as browser:
        for method, path in (("GET", "/sign-on:begin"), ("GET", "/sign-on:finish")):
            assert (await browser.request(method, path)).status_code in (404, 405)
        form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": target.address}
        assert (await browser.post("/sign-on:finish", content=b"state=x&code=y", headers=form)).status_code == 415
        for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
            for step in ("begin", "finish"):
                answer = await browser.post(f"/sign-on:{step}", headers={"Origin": origin})
                assert answer.status_code == 403
        assert (await browser.get("/sign-on?state=x&code=y")).headers["content-type"].startswith("text/html")
        assert not browser.cookies


@patiently
async def test_scopes_of_a_lower_role_are_no_way_up() -> None:
    """A token whose scopes are all of a viewer is no operator, anywhere: neither of all nor of those jobs."""
    async with served() as target, target.client(await target.token("operator", "viewer:etl-*")) as scoped:
        async with target.client(target.admin) as admin:
            await admin.post("/api/v1/schedules", json={"name": "etl-x", "schedule": "@daily", "command": "true"})
        assert (await scoped.get("/api/v1/schedules/etl-x")).status_code == 200
        for method, path in (("POST", "schedules/etl-x:trigger"), ("PUT", "pause"), ("POST", "schedules:pause")):
            assert (await scoped.request(method, f"/api/v1/{path}", json={})).status_code == 403
