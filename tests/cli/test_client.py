"""Where commands ask: a server, with a token of one kind or another, or a store; and what they say if not."""

import getpass
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tickwise import AsyncTickwise
from tickwise.api import local_peer
from tickwise.api.token_file import FILE

from ..support.cli import Filled, live
from .conftest import Command


def test_the_token_of_this_machine_is_found(command: Command, filled: Filled) -> None:
    """Without a token, a server of the same user is sent the one in the state folder."""
    with live(filled.url) as (address, _):
        code, out, _ = command("token", "list", "--server", address)
    assert (code, "local admin" in out) == (0, True)


def test_a_server_of_another_user_gets_no_token(
    command: Command, filled: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has taken the port first is not sent the admin's token (B11)."""
    (filled.folder / FILE).write_text("the admin's secret")
    with stranger(200) as (address, heard):
        port = urlsplit(address).port
        table = tmp_path / "tcp"  # as the kernel would say it of another user's socket
        table.write_text(f"sl local_address\n 0: 0100007F:{port:04X} 00000000:0000 0A 0:0 0:0 0 4242 0 1\n")
        monkeypatch.setattr(local_peer, "_TABLES", (table,))
        code, out, err = command("schedules", "list", "--server", address)
        assert (code, out, f"the server on port {port} belongs to another user" in err) == (2, "", True)
        assert command("schedules", "list", "--server", address, "--token", "their-own")[0] == 1
        assert heard == ["Bearer their-own"]


def test_a_server_elsewhere_needs_a_token_of_its_own(command: Command, filled: Filled) -> None:
    """The token of this machine is sent to no other, and to no port that nobody is known to listen on (B11)."""
    (filled.folder / FILE).write_text("the admin's secret")
    with stranger(200) as (address, heard):
        elsewhere = address.replace("127.0.0.1", "local.test")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(socket, "getaddrinfo", _resolve_to_loopback(socket.getaddrinfo))
            command("schedules", "list", "--server", elsewhere)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(local_peer, "_TABLES", ())
            command("schedules", "list", "--server", address)
        assert heard == [None, None]


def _resolve_to_loopback(resolve: Callable[..., Any]) -> Callable[..., Any]:
    return lambda _, *given, **named: resolve("127.0.0.1", *given, **named)


def test_the_unix_socket_is_preferred(command: Command, filled: Filled) -> None:
    """The server of this machine is asked over its socket, where the kernel says who asks: no token is needed."""
    (filled.folder / FILE).unlink(missing_ok=True)
    with live(filled.url, local=True) as (address, _):
        (filled.folder / FILE).unlink()
        code, out, _ = command("schedules", "pause", "nightly", "--server", address, "--json")
    assert (code, json.loads(out)["paused"]["by"]) == (0, getpass.getuser())


def test_a_socket_that_nothing_listens_on_is_left_aside(command: Command, filled: Filled) -> None:
    """What a killed server has left behind is replaced by the next, and is in nobody's way."""
    with live(filled.url) as (address, _):
        left = socket.socket(socket.AF_UNIX)
        left.bind(str(filled.folder / f"api-{urlsplit(address).port}.sock"))
        left.close()
        assert command("schedules", "list", "--server", address)[0] == 0


def test_a_link_is_printed(command: Command, filled: Filled) -> None:
    """`token link` prints an address of the dashboard that signs a browser in."""
    with live(filled.url) as (address, _):
        code, out, _ = command("token", "link", "--role", "viewer", "--server", address)
        assert code == 0
        assert out.startswith(f"{address}/#/signin?code=")
        given = {"code": out.strip().partition("code=")[2]}
        assert httpx2.post(f"{address}/session", json=given).status_code == 201
    assert command("token", "link")[1].startswith("http://127.0.0.1:8484/#/signin?code=")


def test_a_token_says_who_asks(command: Command, filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    """TICKWISE_TOKEN is taken, `--token` goes before it, and a viewer may not do what an operator may."""
    with live(filled.url) as (address, admin):
        monkeypatch.setenv("TICKWISE_TOKEN", "secret")
        assert command("schedules", "list", "--server", address)[0] == 0
        code, _, err = command("schedules", "pause", "nightly", "--server", address)
        assert (code, "this needs the role operator, and ci is viewer" in err) == (2, True)
        assert command("schedules", "pause", "nightly", "--server", address, "--token", admin)[0] == 0
        code, _, err = command("schedules", "list", "--server", address, "--token", "wrong")
        assert (code, "nobody has this token" in err, "TICKWISE_TOKEN" in err) == (2, True, True)


def test_a_token_is_read_where_others_do_not_see_it(command: Command, filled: Filled, tmp_path: Path) -> None:
    """From a file or stdin it goes unnoticed; as a text on the command line it is warned of (B14)."""
    (tmp_path / "secret.txt").write_text("secret\n")
    with live(filled.url) as (address, _):
        ask = ("schedules", "list", "--server", address, "--token")
        assert command(*ask, f"@{tmp_path}/secret.txt")[::2] == (0, "")
        assert command(*ask, "-", given="secret\n")[::2] == (0, "")
        code, _, err = command(*ask, "secret")
        assert (code, "Other users can see --token" in err) == (0, True)
        code, _, err = command(*ask, "@none.txt")
        assert (code, "the token in none.txt cannot be read" in err) == (2, True)


def test_the_store_can_be_named_and_configured(command: Command, filled: Filled, tmp_path: Path) -> None:
    """`--store` goes before the file of settings, which goes before the default."""
    (tmp_path / "other.toml").write_text(f'store = "sqlite:///{tmp_path}/other.db"\n')
    assert "nightly" in command("schedules", "list")[1]
    assert "nightly" not in command("schedules", "list", "--config", "other.toml")[1]
    assert "nightly" in command("schedules", "list", "--config", "other.toml", "--store", filled.url)[1]


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("place", "says"),
    [
        (("--server", "http://127.0.0.1:1", "--store", "memory://"), "give --server or --store, not both"),
        (("--server", "127.0.0.1:8484"), "write it like http://127.0.0.1:8484"),
        (("--server", "ftp://here"), "is not a server address"),
        (("--server", "http://[bad"), "is not a server address"),
        (("--store", "nonsense://here"), "use sqlite:///FILE"),
        (("--config", "nowhere.toml"), "there is no file nowhere.toml"),
    ],
)
def test_a_place_that_is_none(command: Command, place: tuple[str, ...], says: str) -> None:
    """A wrong address or store is bad input, and its repair is said."""
    code, out, err = command("schedules", "list", *place)
    assert (code, out, says in err) == (2, "", True), err


def test_a_server_that_does_not_answer(command: Command) -> None:
    """An unreachable server is no bad input: 1, with its address and a question."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        code, out, err = command("schedules", "list", "--server", address, "--token", "x")
        assert (code, out) == (1, "")
        assert f"{address} cannot be reached" in err
        assert command("runs", "logs", "1", "--follow", "--server", address, "--token", "x")[0] == 1


class _Stranger(BaseHTTPRequestHandler):
    status = 200
    heard: list[str | None]

    def do_GET(self) -> None:
        self.heard.append(self.headers["Authorization"])
        self.send_response(self.status)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<h1>Welcome</h1>")

    def log_message(self, *_: object) -> None: ...


@contextmanager
def stranger(status: int) -> Iterator[tuple[str, list[str | None]]]:
    """A server that is not ours: its address, and the credentials that it was sent."""
    heard: list[str | None] = []
    kind = type("Stranger", (_Stranger,), {"status": status, "heard": heard})
    server = HTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", heard
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("status", [200, 302, 404, 500])
def test_a_server_that_is_not_ours(command: Command, status: int) -> None:
    """What is not our API is told as that, whatever it answers."""
    with stranger(status) as (address, _):
        code, out, err = command("schedules", "list", "--server", address, "--token", "x")
    assert (code, out, "is not the Tickwise API" in err) == (1, "", True)


@pytest.mark.usefixtures("filled")
def test_a_fault_of_ours_says_where_it_is_logged(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug ends with 1 and an id, and the rest is on the other channel, where JSON readers do not look."""
    monkeypatch.setattr(AsyncTickwise, "upcoming", None)
    code, out, err = command("upcoming", "--json")
    assert (code, out) == (1, "")
    assert "something went wrong on our side; the log has it as" in err


@pytest.mark.usefixtures("filled")
def test_all_that_is_wrong_is_told(command: Command) -> None:
    """A request with several faults is refused with each of them, a line each."""
    code, _, err = command("token", "create", "a/b", "--role", "boss")
    assert (code, [line.removeprefix("error: ").split()[0] for line in err.splitlines()]) == (
        2,
        ["name:", "role:"],
    )


@pytest.mark.usefixtures("filled")
def test_pages_become_one(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list takes as many pages as it needs and stops at its limit, where it says how to go on."""
    monkeypatch.setattr("tickwise.cli.client._PAGE_SIZE", 2)
    whole = json.loads(command("schedules", "list", "--json")[1])
    assert ([one["name"] for one in whole["items"]], whole["next"]) == (["breaks", "nightly", "report"], None)
    part = json.loads(command("schedules", "list", "--limit", "1", "--json")[1])
    assert ([one["name"] for one in part["items"]], part["next"] is None) == (["breaks"], False)
    assert "More than 1: raise --limit to see them." in command("schedules", "list", "--limit", "1")[1]


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("schedules", "show", "../tokens"), "'../tokens' cannot be the name of a schedule"),
        (("runs", "show", "a/b"), "'a/b' is not a run id"),
        (("queues", "limit", "", "--lift"), "'' cannot be the name of a queue"),
    ],
)
def test_what_cannot_be_a_name_is_not_asked_for(command: Command, arguments: tuple[str, ...], says: str) -> None:
    """No name leads to another address."""
    code, out, err = command(*arguments)
    assert (code, out, says in err) == (2, "", True)
