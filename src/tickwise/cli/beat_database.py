"""Reads the tables of django-celery-beat: by the settings of a Django project, or by the URL of a database."""

import os
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from importlib import import_module
from typing import Any
from urllib.parse import unquote, urlsplit

from ..core.errors import InputError
from ..importers.beat_tables import BeatTables
from ..stores.url import hidden

_COLUMNS = {
    "t": "name task args kwargs queue exchange routing_key headers priority expires expire_seconds one_off "
    "start_time enabled last_run_at description".split(),
    "c": "minute hour day_of_month month_of_year day_of_week timezone".split(),
    "i": "every period".split(),
    "k": ["clocked_time"],
    "s": ["event"],
}
NAMES = [name for names in _COLUMNS.values() for name in names]
_QUERY = f"""
    SELECT {", ".join(f"{table}.{name}" for table, names in _COLUMNS.items() for name in names)}
    FROM django_celery_beat_periodictask t
    LEFT JOIN django_celery_beat_crontabschedule c ON c.id = t.crontab_id
    LEFT JOIN django_celery_beat_intervalschedule i ON i.id = t.interval_id
    LEFT JOIN django_celery_beat_clockedschedule k ON k.id = t.clocked_id
    LEFT JOIN django_celery_beat_solarschedule s ON s.id = t.solar_id
    WHERE t.task <> 'celery.backend_cleanup' ORDER BY t.name
"""  # noqa: S608  (names of this module)


def read_beat_tables(source: str) -> BeatTables:
    """The periodic tasks; celery.backend_cleanup, which Celery adds by itself, is left out."""
    try:
        rows = _read_url(source) if "://" in source else _read_django(source)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001  (of whatever driver)
        said = str(error).strip().split("\n", 1)[0]
        raise InputError(f"the tables of django-celery-beat in {hidden(source)} cannot be read: {said}") from None
    app = "" if "://" in source else source.partition(".")[0]
    return BeatTables(hidden(source), [dict(zip(NAMES, row, strict=True)) for row in rows], app)


def _read_django(settings: str) -> Sequence[Sequence[Any]]:
    sys.path.insert(0, "")
    os.environ["DJANGO_SETTINGS_MODULE"] = settings
    try:
        import_module("django").setup()
    except ModuleNotFoundError as error:
        raise InputError(
            f"{settings}: there is no module {error.name}: run it where `import {settings}` works"
        ) from None
    with import_module("django.db").connection.cursor() as cursor:
        cursor.execute(_QUERY)
        rows: list[Sequence[Any]] = cursor.fetchall()
        return rows


def _read_url(url: str) -> Sequence[Sequence[Any]]:
    parts = urlsplit(url)
    connect = _CONNECT.get(parts.scheme)
    if connect is None:
        raise InputError(
            f"{hidden(url)}: write {', '.join(f'{each}://…' for each in _CONNECT)}, or a settings module"
        )
    with closing(connect(url)) as connection, closing(connection.cursor()) as cursor:
        cursor.execute(_QUERY)
        rows: list[Sequence[Any]] = cursor.fetchall()
        return rows


def _connect_sqlite(url: str) -> Any:
    file = unquote(urlsplit(url).path).removeprefix("/")
    return sqlite3.connect(
        f"file:{file.replace('%', '%25').replace('?', '%3f').replace('#', '%23')}?mode=ro", uri=True
    )


def _connect_postgres(url: str) -> Any:
    return import_module("psycopg").connect(url)


def _connect_mysql(url: str) -> Any:
    parts = urlsplit(url)
    return import_module("pymysql").connect(
        host=parts.hostname, port=parts.port or 3_306, user=unquote(parts.username or ""),
        password=unquote(parts.password or ""), database=parts.path.removeprefix("/"),
    )  # fmt: skip


_CONNECT = {"sqlite": _connect_sqlite, "postgresql": _connect_postgres, "mysql": _connect_mysql}
