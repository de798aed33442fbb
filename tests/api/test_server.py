"""The socket on which the API listens."""

import socket
from contextlib import closing

import pytest

from tickwise.api.server import listen
from tickwise.core.errors import InputError


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
