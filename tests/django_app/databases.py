"""`DATABASES` of Django for the URL of a store."""

from typing import Any
from urllib.parse import unquote, urlsplit

_ENGINES = {"sqlite": "sqlite3", "postgresql": "postgresql", "mysql": "mysql"}


def database(url: str) -> dict[str, Any]:
    """One entry."""
    parts = urlsplit(url)
    engine = f"django.db.backends.{_ENGINES[parts.scheme]}"
    if parts.scheme == "sqlite":
        return {"ENGINE": engine, "NAME": parts.path[1:]}
    query = dict(pair.split("=") for pair in parts.query.split("&") if pair)
    host = unquote(query.get("host", "") or query.get("unix_socket", "")) or parts.hostname or ""
    return {
        "ENGINE": engine, "NAME": parts.path[1:], "USER": unquote(parts.username or ""), "HOST": host,
        "PASSWORD": unquote(parts.password or ""), "PORT": parts.port or query.get("port", ""),
    }  # fmt: skip
