"""Reads the tables of django-celery-beat: by the settings of a Django project, or by the URL of a database."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ..core.errors import InputError
from ..importers.beat_tables import BeatTables
from ..stores.url import hidden
from .database_rows import first_line, query_rows

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
        is_url = "://" in source
        rows = query_rows(source, _QUERY, ", or a settings module") if is_url else _read_django(source)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001  (of whatever driver)
        said = first_line(error)
        raise InputError(f"the tables of django-celery-beat in {hidden(source)} cannot be read: {said}") from None
    app = "" if "://" in source else source.partition(".")[0]
    return BeatTables(hidden(source), [dict(zip(NAMES, row, strict=True)) for row in rows], app)


def _read_django(settings: str) -> Sequence[Sequence[Any]]:
    if Path(settings).is_file():
        raise InputError(f"{settings} is a file: write sqlite:///{settings} for a database, or a settings module")
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
