"""`ETag`, `If-None-Match` and `If-Match`: nothing known is sent again, and nothing unseen is changed.

The tag has the version of the job that an edit is written over. So a stale tag is refused before anything is
written, and the store refuses an edit that another overtook: both are 412 to a caller that sent `If-Match`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import Request, Response

from ..app.definitions import StoredJob
from ..app.records import ScheduleRow
from ..core.errors import StaleVersionError
from .problems import Refusal


def etag(version: int, row: ScheduleRow) -> str:
    """Changes with the job's definition, and when a person pauses, moves or resets the schedule."""
    return f'"{version}-{row.updated_at}"'


def not_modified(request: Request, tag: str) -> Response | None:
    """304, if the caller has this version already."""
    if _matches(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers={"ETag": tag})
    return None


@contextmanager
def matching_edit(request: Request, stored: StoredJob, row: ScheduleRow) -> Iterator[None]:
    """412, if the caller has seen another version than the one that is edited in here."""
    match = request.headers.get("if-match")
    if match is None:
        yield
        return
    if not _matches(match, etag(stored.version, row)):
        raise _stale_refusal()
    try:
        yield
    except StaleVersionError:
        raise _stale_refusal() from None


def _stale_refusal() -> Refusal:
    return Refusal(412, "it has been changed meanwhile: get it again, and look whether your change still fits")


def _matches(header: str | None, tag: str) -> bool:
    if header is None:
        return False
    given = {one.strip().removeprefix("W/") for one in header.split(",")}
    return "*" in given or tag in given
