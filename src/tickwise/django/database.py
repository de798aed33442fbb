"""The project's database as a store: its URL, and the connection of a transaction that is open."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from django.db import connections

from ..core.errors import InputError

_POSTGRES_OPTIONS = ("sslmode", "sslrootcert", "sslcert", "sslkey", "passfile")
_MYSQL_TLS = ("ca", "cert", "key")
_ELSEWHERE = {"service": "a service file", "read_default_file": "an option file"}


def database_url(alias: str) -> str:
    """The URL of a store in this database, as its connection has it now: tests have a database of their own."""
    connection = connections[alias]
    if connection.vendor not in _URLS:
        raise InputError(
            f"the database {alias!r} is {connection.display_name}, which is no store: set TICKWISE['store']"
        )
    given = connection.settings_dict
    for option, what in _ELSEWHERE.items():
        if option in given["OPTIONS"]:
            raise InputError(f"the database {alias!r} is described by {what}: set TICKWISE['store'] to its URL")
    return _URLS[connection.vendor](given)


def _postgresql(given: Mapping[str, Any]) -> str:
    options = {name: given["OPTIONS"][name] for name in _POSTGRES_OPTIONS if name in given["OPTIONS"]}
    if str(given["HOST"]).startswith("/"):
        return _network_url("postgresql", {**given, "HOST": "", "PORT": ""}, {
            "host": given["HOST"], **({"port": given["PORT"]} if given["PORT"] else {}), **options
        })  # fmt: skip
    return _network_url("postgresql", given, options)


def _mysql(given: Mapping[str, Any]) -> str:
    tls = given["OPTIONS"].get("ssl") or {}
    options = {f"ssl_{name}": tls[name] for name in _MYSQL_TLS if name in tls}
    socket = given["OPTIONS"].get("unix_socket") or (given["HOST"] if str(given["HOST"]).startswith("/") else "")
    if socket:
        return _network_url("mysql", {**given, "HOST": ""}, {"unix_socket": socket, **options})
    return _network_url("mysql", given, options)


def _network_url(scheme: str, given: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    user, password = (quote(str(given[name] or ""), safe="") for name in ("USER", "PASSWORD"))
    login = f"{user}:{password}@" if password else f"{user}@" if user else ""
    host = f"[{given['HOST']}]" if ":" in str(given["HOST"]) else given["HOST"]
    port = f":{given['PORT']}" if given["PORT"] else ""
    query = f"?{urlencode(options)}" if options else ""
    return f"{scheme}://{login}{host}{port}/{quote(str(given['NAME']), safe='')}{query}"


def _sqlite(given: Mapping[str, Any]) -> str:
    name = str(given["NAME"])
    if name == ":memory:" or "mode=memory" in name:
        return "memory://"
    return f"sqlite:///{quote(str(Path(name).absolute()))}"


_URLS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "postgresql": _postgresql, "mysql": _mysql, "sqlite": _sqlite,
}  # fmt: skip


def connection_in_transaction(alias: str) -> Any:
    """The driver's own connection, if this thread is in a transaction of this database; else none."""
    connection = connections[alias]
    if connection.connection is None or (connection.get_autocommit() and not connection.in_atomic_block):
        return None
    connection.validate_no_broken_transaction()
    return connection.connection
