"""URL → store: `sqlite:///file`, `postgresql://…`, `mongodb://…`, `memory://`."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ..clock import microseconds
from ..core.errors import InputError, nearest
from .contract import Store

_DRIVERS = {"postgresql": ("asyncpg", "postgres"), "mongodb": ("pymongo", "mongodb")}
SCHEMES = ["sqlite", "postgresql", "memory"]


def open_store(url: str, clock: Callable[[], int] | None = None) -> Store:
    """A store, not yet connected where that takes a network. Tests pass a clock (microseconds) of their own."""
    scheme = urlsplit(url).scheme.partition("+")[0]
    scheme = {"postgres": "postgresql"}.get(scheme, scheme)
    if scheme == "memory":
        from .memory import MemoryStore

        return MemoryStore(clock or microseconds)
    if scheme == "sqlite":
        return _sqlite(url, clock)
    if scheme == "postgresql":
        return _postgres(url, clock)
    raise InputError(
        f"the store {hidden(url)!r} begins with {scheme or 'nothing'!r}{nearest(scheme, SCHEMES)}: use "
        f"sqlite:///FILE, "
        "postgresql://USER@HOST/NAME or memory://"
    )


def _sqlite(url: str, clock: Callable[[], int] | None) -> Store:
    from .sql.sqlite import SqliteDriver
    from .sql.store import SqlStore

    path = unquote(urlsplit(url).path).removeprefix("/")
    if urlsplit(url).netloc or not path:
        raise InputError(f"{url!r} names no file: write sqlite:///relative.db, or sqlite:////absolute/path.db")
    file = Path(path)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)
    except OSError as error:
        raise InputError(f"{path} cannot be made or opened: {error.strerror}") from error
    return SqlStore(SqliteDriver(file, clock))


def _postgres(url: str, clock: Callable[[], int] | None) -> Store:
    try:
        from .sql.postgres import PostgresDriver
    except ImportError:
        raise InputError("the PostgreSQL driver is missing: pip install 'tickwise[postgres]'") from None
    from .sql.store import SqlStore

    return SqlStore(PostgresDriver(url, clock))


def is_private(url: str) -> bool:
    """Whether only this user can write there: then what is in it was written by who may run commands anyway."""
    scheme = urlsplit(url).scheme
    if scheme == "memory":
        return True
    if scheme != "sqlite":
        return False
    path = Path(unquote(urlsplit(url).path).removeprefix("/"))
    return not path.exists() or not path.stat().st_mode & 0o022


def hidden(url: str) -> str:
    """The URL without its password."""
    parts = urlsplit(url)
    return url if parts.password is None else url.replace(f":{parts.password}@", ":…@")
