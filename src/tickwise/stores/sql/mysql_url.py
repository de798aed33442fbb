"""`mysql://USER:PASSWORD@HOST:PORT/NAME` → what the driver connects with."""

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from ...core.errors import InputError, did_you_mean, nearest_word
from ..validation import UNREADABLE_URL

_OPTIONS = {"unix_socket": "unix_socket", "ssl_ca": "ca", "ssl_cert": "cert", "ssl_key": "key"}


def connect_arguments(url: str) -> dict[str, Any]:
    """Host, port, user, password and database, a socket, and files for TLS."""
    try:
        parts = urlsplit(url)
        port = parts.port or 3306
    except ValueError:
        raise InputError(UNREADABLE_URL) from None
    name = unquote(parts.path.removeprefix("/"))
    if not name or "/" in name:
        raise InputError("the store's URL names no database: write mysql://USER:PASSWORD@HOST/NAME")
    given = dict(parse_qsl(parts.query))
    for option in given:
        if option not in _OPTIONS:
            hint = did_you_mean(nearest_word(option, list(_OPTIONS)))
            raise InputError(f"the store's URL has an unknown option {option!r}{hint}: use {', '.join(_OPTIONS)}")
    arguments: dict[str, Any] = {
        "host": parts.hostname or "127.0.0.1", "port": port, "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""), "db": name,
    }  # fmt: skip
    if socket := given.pop("unix_socket", None):
        arguments["unix_socket"] = socket
    if given:
        arguments["ssl"] = {_OPTIONS[option]: value for option, value in given.items()}
    return arguments
