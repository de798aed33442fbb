"""A URL opens a store, or it is said what is wrong with it; the password never is."""

import asyncio
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import psycopg
import pytest
from psycopg import sql

from tickwise.core.errors import InputError, TickwiseError
from tickwise.stores.contract import Store, StoreUnavailableError
from tickwise.stores.memory.store import MemoryStore
from tickwise.stores.mongo.store import MongoStore
from tickwise.stores.redis.store import RedisStore
from tickwise.stores.sql.store import SqlStore
from tickwise.stores.url import hidden, is_private, open_store

from ..support.servers import postgres
from ..support.servers.process import free_port

SECRET = "correct/horse#battery"  # noqa: S105  (nobody's)


def opened(url: str) -> Store:
    """The store, which has answered and is closed again."""

    async def ask() -> Store:
        store = open_store(url)
        try:
            await store.now()
        finally:
            await store.close()
        return store

    return asyncio.run(ask())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that relative names are in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_memory() -> None:
    """It needs nothing, and reads this machine's clock."""
    assert isinstance(opened("memory://"), MemoryStore)


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("sqlite:///own.db", "own.db"),
        ("sqlite:///./own.db", "own.db"),
        ("sqlite:///not/there/yet.db", "not/there/yet.db"),
        ("sqlite:///with%20space%3F%23.db", "with space?#.db"),
        ("sqlite+pysqlite:///own.db", "own.db"),
        ("SQLite:///own.db", "own.db"),
    ],
)
def test_a_file(here: Path, url: str, file: str) -> None:
    """Three slashes and a name: a file in or below this folder, made if it is not there."""
    assert isinstance(opened(url), SqlStore)
    assert (here / file).is_file()


def test_a_file_anywhere(tmp_path: Path) -> None:
    """Four slashes begin an absolute path."""
    opened(f"sqlite:///{tmp_path}/deep/own.db")
    assert (tmp_path / "deep" / "own.db").is_file()


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+asyncpg", "postgresql+psycopg"])
def test_a_server(postgres_url: str, scheme: str) -> None:
    """PostgreSQL goes by two names, and the driver that others use does not matter."""
    assert isinstance(opened(f"{scheme}:{postgres_url.partition(':')[2]}"), SqlStore)


@pytest.mark.parametrize("scheme", ["mysql", "mariadb", "mysql+pymysql", "mariadb+asyncmy"])
def test_a_server_of_mysql(mysql_url: str, scheme: str) -> None:
    """MySQL and MariaDB are one kind, whatever driver others use."""
    assert isinstance(opened(f"{scheme}:{mysql_url.partition(':')[2]}"), SqlStore)


def test_a_replica_set(mongodb_url: str) -> None:
    """MongoDB is told from the others by its scheme."""
    assert isinstance(opened(mongodb_url), MongoStore)


def test_a_key_value_server(redis_url: str) -> None:
    """Redis and Valkey are told from the others by their scheme."""
    assert isinstance(opened(redis_url), RedisStore)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgre://u@h/n", "did you mean postgresql"),
        ("sqllite:///a.db", "did you mean sqlite"),
        ("mongo://h/n", "did you mean mongodb"),
        ("reddis://h", "did you mean redis"),
        ("valkey://h", "sqlite:///FILE"),
        ("own.db", "begins with 'nothing'"),
        ("", "begins with 'nothing'"),
        ("mysq://h/n", "did you mean mysql"),
        (f"oracle://u:{SECRET}@h/n", "oracle"),
        (f"mysql://[u:{SECRET}@h/n", "percent"),
        (f"mysql://u:{SECRET}@h:port/n", "percent"),
        ("mysql://u:p@h", "names no database: write mysql://USER:PASSWORD@HOST/NAME"),
        ("mysql://u:p@h/n?ssl_crt=x", "unknown option 'ssl_crt'.*did you mean ssl_cert"),
    ],
)
def test_a_wrong_beginning(here: Path, url: str, words: str) -> None:
    """It is refused with the nearest right word and all that there are, and no password is said."""
    with pytest.raises(InputError, match=words) as caught:
        open_store(url)
    assert SECRET not in str(caught.value)
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("sqlite://", "names no file"),
        ("sqlite:///", "names no file"),
        ("sqlite://own.db", "sqlite:///relative.db"),
        ("sqlite:own.db", "sqlite:///relative.db"),
        ("sqlite:/tmp/own.db", "sqlite:////absolute"),
        ("sqlite:///own.db?mode=ro", "%3F"),
        ("sqlite:///own#1.db", "%23"),
        ("sqlite:///own%00.db", "file's name"),
        ("sqlite:///.", "is a folder"),
    ],
)
def test_no_file(here: Path, url: str, words: str) -> None:
    """A URL that names no file, or not only a file, is refused with how to write one."""
    with pytest.raises(InputError, match=words):
        open_store(url)
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "driver", "command"),
    [
        ("postgresql://h/n", "asyncpg", "pip install 'tickwise[postgres]'"),
        ("mysql://h/n", "asyncmy", "pip install 'tickwise[mysql]'"),
        ("mariadb://h/n", "asyncmy", "pip install 'tickwise[mysql]'"),
        ("mongodb://h/n", "pymongo", "pip install 'tickwise[mongodb]'"),
        ("rediss://h/0", "redis", "pip install 'tickwise[redis]'"),
    ],
)
def test_a_driver_that_is_not_installed(url: str, driver: str, command: str) -> None:
    """The error is the command that installs it."""
    program = (
        "import sys; sys.modules[sys.argv[2]] = None\n"
        "from tickwise.core.errors import InputError\n"
        "from tickwise.stores.url import open_store\n"
        "try: open_store(sys.argv[1])\n"
        "except InputError as error: print(error, end='')\n"
    )
    done = subprocess.run([sys.executable, "-c", program, url, driver], capture_output=True, text=True, check=True)
    assert done.stdout.endswith(f"driver is missing: {command}")


def refusal(url: str, error: type[TickwiseError] = StoreUnavailableError) -> str:
    """What is said to who may not come in; neither that nor its cause tells the password."""
    with pytest.raises(error) as caught:
        opened(url)
    said = f"{caught.value} {caught.value.__cause__}"
    assert [secret for secret in (SECRET, quote(SECRET, safe="")) if secret in said] == []
    return str(caught.value)


def test_nobody_there() -> None:
    """An unreachable server is told from other troubles, with what to look at."""
    said = refusal(f"postgresql://u:{quote(SECRET, safe='')}@127.0.0.1:{free_port()}/n")
    assert "cannot connect to PostgreSQL" in said
    assert "check host, port" in said


def test_a_server_of_mysql_that_is_not_there() -> None:
    """The address is to be checked, and no password is said."""
    said = refusal(f"mysql://u:{quote(SECRET, safe='')}@127.0.0.1:{free_port()}/n")
    assert "cannot connect to MySQL" in said
    assert "check host, port, name, user and password" in said


def test_a_user_whom_mysql_does_not_know(mysql_url: str) -> None:
    """The server's own words are told, without the password."""
    where = urlsplit(mysql_url)
    said = refusal(where._replace(netloc=f"nobody:{quote(SECRET, safe='')}@127.0.0.1:{where.port}").geturl())
    assert "Access denied for user 'nobody'" in said


def test_no_such_database(postgres_url: str) -> None:
    """The server's own words name the database."""
    url = urlsplit(_with_password(postgres_url, SECRET))._replace(path="/nowhere").geturl()
    assert 'database "nowhere" does not exist' in refusal(url)


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    """The URL of a server that asks for a password, which is SECRET."""
    with postgres.server() as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(sql.SQL("ALTER ROLE postgres PASSWORD {}").format(sql.Literal(SECRET)))
            (server.folder / "data" / "pg_hba.conf").write_text("host all all 127.0.0.1/32 scram-sha-256\n")
            connection.execute("SELECT pg_reload_conf()")
        yield server.url


def _with_password(url: str, password: str) -> str:
    return url.replace("postgres@", f"postgres:{quote(password, safe='')}@")


def test_a_password(guarded: str) -> None:
    """Special characters are written as percent codes; with the right one the server answers."""
    assert isinstance(opened(_with_password(guarded, SECRET)), SqlStore)


def test_a_wrong_password(guarded: str) -> None:
    """The user is named, the password is not."""
    said = refusal(_with_password(guarded, f"{SECRET}!"))
    assert 'password authentication failed for user "postgres"' in said
    assert "password in the store's URL" in said


def test_a_password_that_breaks_the_url(guarded: str) -> None:
    """Left as it is, a # or / ends the host's name; how to write it is said, and no piece of it."""
    said = refusal(guarded.replace("postgres@", f"postgres:{SECRET}@"), InputError)
    assert "%23" in said
    assert [piece for piece in ("correct", "horse", "battery") if piece in said] == []


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:p@h/n", "postgresql://u:…@h/n"),
        ("postgresql://u:p#/?@w@h/n", "postgresql://u:…@h/n"),
        ("postgresql://h/n?user=u&password=p%20p&x=1", "postgresql://h/n?user=u&password=…&x=1"),
        ("postgresql://u@h/n", "postgresql://u@h/n"),
        ("mysql://u:p@h/n", "mysql://u:…@h/n"),
        ("sqlite:////home/a:b@c.db", "sqlite:////home/a:b@c.db"),
        ("memory://", "memory://"),
    ],
)
def test_what_people_see_of_a_url(url: str, shown: str) -> None:
    """All but the password."""
    assert hidden(url) == shown


def test_who_else_can_write(here: Path) -> None:
    """A file that is not there yet, or that nobody else may write, is private; a server never is."""
    url = "sqlite:///own.db"
    assert is_private(url)
    opened(url)
    assert (is_private(url), stat.S_IMODE((here / "own.db").stat().st_mode)) == (True, 0o600)
    for mode, private in ((0o644, True), (0o602, False)):
        (here / "own.db").chmod(mode)
        assert (mode, is_private(url)) == (mode, private)
    assert is_private("memory://")
    assert not is_private("postgresql://h/n")
    assert not is_private("mongodb://h/n")
    assert not is_private("redis://h/0")
