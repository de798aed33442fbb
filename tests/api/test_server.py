"""The socket on which the API listens."""

import asyncio
import socket
import ssl
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from structlog.testing import capture_logs

from tickwise.api import protocol
from tickwise.api.local_peer import local_listener
from tickwise.api.server import listen, serve_app
from tickwise.api.server_address import server_address
from tickwise.config import Settings, load
from tickwise.core.errors import InputError

CERTIFICATE = Path(__file__).parent / "certificate" / "certificate.pem"  # for 127.0.0.1, by itself, for a century
KEY = CERTIFICATE.with_name("key.pem")


def test_answers_are_sent_at_once() -> None:
    """What is written in two pieces does not wait for the other side to confirm the first."""
    with closing(listen("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_taken_port_is_told_with_the_way_out() -> None:
    """Before anything else is started."""
    with closing(listen("127.0.0.1", 0)) as taken, pytest.raises(InputError, match="choose another --port"):
        listen("127.0.0.1", taken.getsockname()[1])


def test_answers_come_over_tls() -> None:
    """With a certificate, who trusts it is answered over https, and the address says so."""

    async def asked() -> tuple[int, str]:
        settings = Settings(certificate=str(CERTIFICATE), certificate_key=str(KEY))
        listener = listen("127.0.0.1", 0)
        async with (
            serve_app(_greet, listener, settings),
            httpx2.AsyncClient(verify=ssl.create_default_context(cafile=CERTIFICATE)) as client,
        ):
            answer = await client.get(server_address(settings, listener.getsockname()[1]))
            return answer.status_code, answer.text

    assert asyncio.run(asked()) == (200, "https")


@pytest.mark.parametrize(
    ("certificate", "key"), [(CERTIFICATE, CERTIFICATE), (KEY, KEY), (CERTIFICATE.with_name("none.pem"), KEY)]
)
def test_a_certificate_that_cannot_be_used_is_refused(certificate: Path, key: Path) -> None:
    """Before anybody is let in: with the file's name and the settings to look at."""

    async def tried() -> None:
        with closing(listen("127.0.0.1", 0)) as listener:
            settings = Settings(certificate=str(certificate), certificate_key=str(key))
            async with serve_app(_greet, listener, settings):
                pass

    with pytest.raises(InputError, match=r"cannot be used .*check `certificate` and `certificate_key`") as refused:
        asyncio.run(tried())
    assert str(certificate) in str(refused.value)


async def _greet(scope: Any, receive: Any, send: Any) -> None:
    """Says how it was reached."""
    if scope["type"] == "lifespan":
        for done in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{done}.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["scheme"].encode()})


@pytest.mark.parametrize("named", [True, False])
def test_a_socket_that_cannot_be_made(tmp_path: Path, named: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that the settings name must be there; without it local commands need a token, and all else works."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "taken.sock" if named else tmp_path / ".tickwise" / "api-1.sock"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_text("not a socket")
    settings = load({"store": "memory://", **({"socket": str(path)} if named else {})}, environ={})
    if named:
        with pytest.raises(InputError, match="choose another `socket`"), local_listener(settings, 1):
            pass
    else:
        with capture_logs() as logged, local_listener(settings, 1) as listener:
            assert listener is None
        assert [line["event"] for line in logged] == ["no unix socket: local commands need a token"]
    assert path.read_text() == "not a socket"


def test_a_handshake_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over TLS, a connection that sends nothing is closed as it is without TLS (B4)."""
    monkeypatch.setattr(protocol, "HEAD_TIMEOUT", 0.2)

    async def connected() -> bytes:
        settings = Settings(certificate=str(CERTIFICATE), certificate_key=str(KEY))
        listener = listen("127.0.0.1", 0)
        where = listener.getsockname()
        async with serve_app(_greet, listener, settings):
            reader, writer = await asyncio.open_connection(*where)
            try:
                return await reader.read()
            finally:
                writer.close()

    assert asyncio.run(connected()) == b""
