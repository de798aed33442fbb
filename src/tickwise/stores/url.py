"""URL → store: `sqlite:///file`, `postgresql://…`, `mysql://…`, `mongodb://…`, `redis://…`, `memory://`."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from ..clock import microseconds
from ..core.errors import InputError, did_you_mean, nearest_word
from ..ownership import STRICT, WriterCheck
from .contract import Store
from .validation import UNREADABLE_URL

SCHEMES = ["sqlite", "postgresql", "mysql", "mariadb", "mongodb", "redis", "memory"]
_ALIASES = {"postgres": "postgresql", "mariadb": "mysql", "rediss": "redis"}
_PASSWORD = re.compile(r"(://[^:/?#@]*):.*@|(\bpassword=)[^&#]*", re.DOTALL)


def open_store(url: str, clock: Callable[[], int] | None = None, writers: WriterCheck = STRICT) -> Store:
    """A store, not yet connected where that takes a network. Tests pass a clock (microseconds) of their own.

    `writers` says who may write the file of an SQLite store: one of another user would decide what runs here.
    """
    scheme = _parts(url).scheme.partition("+")[0]
    scheme = _ALIASES.get(scheme, scheme)
    if scheme == "memory":
        from .memory.store import MemoryStore

        return MemoryStore(clock or microseconds)
    if scheme == "sqlite":
        return _sqlite(url, clock, writers)
    if scheme == "postgresql":
        return _postgres(url, clock)
    if scheme == "mysql":
        return _mysql(url, clock)
    if scheme == "mongodb":
        return _mongodb(url, clock)
    if scheme == "redis":
        return _redis(url, clock)
    hint = did_you_mean(nearest_word(scheme, SCHEMES))
    raise InputError(
        f"the store {hidden(url)!r} begins with {scheme or 'nothing'!r}{hint}: use "
        "sqlite:///FILE, postgresql://USER@HOST/NAME, mysql://USER@HOST/NAME, mongodb://HOST/NAME, redis://HOST/0 "
        "or memory://"
    )


def _parts(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        raise InputError(UNREADABLE_URL) from None


def _file(url: str) -> Path:
    parts = urlsplit(url)
    if parts.netloc or not url.partition(":")[2].startswith("///") or not parts.path.removeprefix("/"):
        raise InputError(f"{url!r} names no file: write sqlite:///relative.db, or sqlite:////absolute/path.db")
    if parts.query or parts.fragment or "%00" in parts.path:
        raise InputError(f"{url!r} has more than a file's name: if ? or # belong to it, write %3F and %23")
    return Path(unquote(parts.path).removeprefix("/"))


def _sqlite(url: str, clock: Callable[[], int] | None, writers: WriterCheck) -> Store:
    from .sql.sqlite import SqliteDriver, files_of
    from .sql.store import SqlStore

    file = _file(url)
    try:
        if file.is_dir():
            raise InputError(f"{file} is a folder: name a file in it, as sqlite:///{file}/tickwise.db")
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        writers.check(file.parent, sticky=True)
        writers.make(file)
        for known in files_of(file):
            if os.path.lexists(known):
                writers.check(known)
        file.touch()  # an error if it may not be written
        return SqlStore(SqliteDriver(file, clock))
    except OSError as error:
        raise InputError(f"{file} cannot be made or opened: {error}") from error


def _postgres(url: str, clock: Callable[[], int] | None) -> Store:
    try:
        from .sql.postgres import PostgresDriver
    except ImportError:
        raise InputError("the PostgreSQL driver is missing: pip install 'tickwise[postgres]'") from None
    from .sql.store import SqlStore

    return SqlStore(PostgresDriver(f"postgresql:{url.partition(':')[2]}", clock))


def _mysql(url: str, clock: Callable[[], int] | None) -> Store:
    try:
        from .sql.mysql import MysqlDriver
    except ImportError:
        raise InputError("the MySQL driver is missing: pip install 'tickwise[mysql]'") from None
    from .sql.store import SqlStore

    return SqlStore(MysqlDriver(url, clock))


def _mongodb(url: str, clock: Callable[[], int] | None) -> Store:
    try:
        from .mongo.store import MongoStore
    except ImportError:
        raise InputError("the MongoDB driver is missing: pip install 'tickwise[mongodb]'") from None
    return MongoStore(url, clock)


def _redis(url: str, clock: Callable[[], int] | None) -> Store:
    try:
        from .redis.store import RedisStore
    except ImportError:
        raise InputError("the Redis driver is missing: pip install 'tickwise[redis]'") from None
    return RedisStore(url, clock)


def is_private(url: str) -> bool:
    """Whether only this user can write there. Then its commands are the user's own, and may be run."""
    scheme = urlsplit(url).scheme
    if scheme == "memory":
        return True
    if scheme != "sqlite":
        return False
    path = _file(url)
    return not path.exists() or STRICT.refusal(path, path.stat()) is None


def hidden(url: str) -> str:
    """The URL without its password."""
    return _PASSWORD.sub(lambda match: f"{match[1]}:…@" if match[1] else f"{match[2]}…", url)


def store_exists(url: str) -> bool:
    """Whether a SQLite store has its file: opening it would create one. Other stores are on a server."""
    return urlsplit(url).scheme != "sqlite" or _file(url).exists()


def check_exists(url: str) -> None:
    """Refuse a SQLite store that is not there."""
    if not store_exists(url):
        raise InputError(
            f"there is no store {hidden(url)} ({_file(url).absolute()}): start `tickwise serve`, name another "
            "store with --store, or create this one with `tickwise store upgrade`"
        )
