"""The proxy does what the faults need of it, and forwards everything else."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread

import pytest

from ..support.fork_server import PATIENCE
from .proxy import Loss, Proxy

WRITE = b"write"


class Echo:
    """A server that keeps what it hears, and says it again."""

    def __init__(self) -> None:
        self.heard = b""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            with self._listener.accept()[0] as asked, suppress(ConnectionError):
                while data := asked.recv(100):
                    self.heard += data
                    asked.sendall(data)


@pytest.fixture(scope="module")
def echo() -> Echo:
    return Echo()


@pytest.fixture
def proxy(echo: Echo) -> Iterator[Proxy]:
    echo.heard = b""
    with Proxy("127.0.0.1", echo.port, WRITE.__eq__) as proxy:
        yield proxy


@contextmanager
def _connected(proxy: Proxy) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", proxy.port), PATIENCE) as client:
        client.sendall(b"read")
        assert client.recv(100) == b"read"
        yield client


def _ends(client: socket.socket) -> bool:
    try:
        return not client.recv(100)
    except ConnectionResetError:
        return True


def test_a_cut_ends_connections(proxy: Proxy) -> None:
    """Whoever is connected hears of it; whoever comes later is served."""
    with _connected(proxy) as client:
        proxy.cut()
        assert _ends(client)
    with _connected(proxy):
        pass


def test_a_stall_keeps_everything_back(proxy: Proxy, echo: Echo) -> None:
    """What is sent meanwhile reaches the server after the stall, and not before."""
    with _connected(proxy) as client:
        with proxy.stalled():
            client.sendall(WRITE)
            client.settimeout(0.1)
            with pytest.raises(TimeoutError):
                client.recv(100)
            assert echo.heard == b"read"
        client.settimeout(PATIENCE)
        assert client.recv(100) == WRITE


@pytest.mark.parametrize(("what", "heard"), [(Loss.REQUEST, b"read"), (Loss.ANSWER, b"readwrite")])
def test_one_message_of_a_write_is_lost(proxy: Proxy, echo: Echo, what: Loss, heard: bytes) -> None:
    """The client sees the same in both cases; the server has done the write, or never heard of it."""
    with _connected(proxy) as client:
        lost = proxy.lose(what)
        client.sendall(WRITE)
        assert _ends(client)
        lost.result(PATIENCE)
    assert echo.heard == heard


def test_messages_of_one_kind_are_answered(proxy: Proxy, echo: Echo) -> None:
    """They get the given reply and never reach the server; all others do, on the same connection."""
    with _connected(proxy) as client:
        with proxy.answering({b"claim": b"no"}.get):
            for said, answer in ((b"claim", b"no"), (WRITE, WRITE)):
                client.sendall(said)
                assert client.recv(100) == answer
        client.sendall(b"claim")
        assert client.recv(100) == b"claim"
    assert echo.heard == b"readwriteclaim"
