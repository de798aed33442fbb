"""The other end of a local connection: which user it is, and where the server of this machine listens for its own.

The command line uses the unix socket, and sends the admin token of this machine, only if the server belongs to a
user who could read the token anyway: root, the command line's own, or the owner of the state folder.
"""

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..config import Settings
from ..core.errors import InputError
from ..log import get_logger
from ..ownership import WriterCheck
from .token_file import private_folder, state_folder

_log = get_logger()
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LISTENING = "0A"
_MAX_PATH = 100  # bytes; the kernel's limit is 108
_TIMEOUT = 5.0  # seconds
_IS_SUPPORTED = hasattr(socket, "SO_PEERCRED")
_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid


def socket_path(settings: Settings, port: int) -> Path | None:
    """Where the unix socket of the server on a port is; none if the path is too long, or the kernel is another."""
    path = Path(settings.socket) if settings.socket else state_folder(settings.store) / f"api-{port}.sock"
    return path if _IS_SUPPORTED and len(os.fsencode(path)) <= _MAX_PATH else None


@contextmanager
def local_listener(settings: Settings, port: int) -> Iterator[socket.socket | None]:
    """A listening unix socket for its owner and root, while the block runs; none if there can be none."""
    path = socket_path(settings, port)
    if path is None:
        yield None
        return
    if not settings.socket:
        private_folder(path.parent, WriterCheck(settings.trusted_folders))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        try:
            _bind(listener, path)
        except OSError as error:
            if settings.socket:
                raise InputError(f"cannot listen on {path} ({error.strerror}): choose another `socket`") from None
            _log.warning("no unix socket: local commands need a token", path=str(path), problem=error.strerror)
            yield None
            return
        try:
            yield listener
        finally:
            path.unlink(missing_ok=True)


def _bind(listener: socket.socket, path: Path) -> None:
    """Bind in place of a socket that nothing listens on any longer."""
    if path.is_socket() and peer_uid(path) is None:
        path.unlink()
    listener.bind(str(path))
    path.chmod(0o600)
    listener.listen()


def peer_uid(path: Path) -> int | None:
    """The user whose server listens on a unix socket; none if nothing does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(_TIMEOUT)
        try:
            client.connect(str(path))
        except OSError:
            return None
        return connected_uid(client)


def connected_uid(connection: socket.socket) -> int:
    """The user at the other end of a connected unix socket, as the kernel says."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(credentials)[1])


def is_trusted(uids: set[int], folder: Path) -> bool:
    """Whether all these users may get the token in a folder: they could read it there."""
    return uids <= {0, os.geteuid(), folder.stat().st_uid}


def listener_uids(port: int) -> set[int]:
    """The users who listen on a TCP port of this machine, on whatever address; empty if that is not known."""
    return {uid for table in _TABLES for uid in _listeners(table, port)}


def _listeners(table: Path, port: int) -> Iterator[int]:
    with suppress(OSError):  # another system, or no IPv6
        for line in table.read_text("ascii").splitlines()[1:]:
            columns = line.split()
            if columns[3] == _LISTENING and int(columns[1].rpartition(":")[2], 16) == port:
                yield int(columns[7])
