"""Reads the schedules in a SQLAlchemy data store of APScheduler 4, by the URL of its database."""

from ..core.errors import InputError
from ..importers.apscheduler_store import COLUMNS, ScheduleRows
from ..stores.url import hidden
from .database_rows import first_line, query_rows

_QUERY = f"""
    SELECT {", ".join(COLUMNS)} FROM schedules s LEFT JOIN tasks t ON t.id = s.task_id ORDER BY s.id
"""  # noqa: S608  (names of this package)


def read_schedule_rows(url: str) -> ScheduleRows:
    """The rows as the database holds them: nothing of them is executed."""
    try:
        rows = query_rows(url, _QUERY, ", a file or folder of code, or module:scheduler")
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001  (of whatever driver)
        raise InputError(
            f"no schedules of APScheduler 4 can be read in {hidden(url)}: {first_line(error)}. The job stores of "
            "APScheduler 3 hold pickles, and to read one is to execute it: give the file or folder of the code "
            "that adds the jobs, or module:scheduler"
        ) from None
    names = [column.partition(".")[2] for column in COLUMNS]
    return ScheduleRows(hidden(url), [dict(zip(names, row, strict=True)) for row in rows])
