"""`ETag`, `If-None-Match` and `If-Match`: who saw what, and who may change it.

An edit claims the version that it changes. Of two that saw the same version one gets the claim, whichever process
they reach; the other is told to look again. The claim of an edit that fails runs out by itself.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

from fastapi import Request, Response

from ..stores.contract import Store
from ..stores.records import ScheduleRow
from .problems import Refusal

_SECONDS = 5  # for which a version is claimed by an edit that has not changed it yet


async def etag(store: Store, row: ScheduleRow) -> str:
    """Changes whenever the job's definition or a person's word on the schedule does."""
    job = await store.insights.job(row.schedule.job)
    return f'"{job.version if job else 0}-{row.updated_at}"'


def not_modified(request: Request, tag: str) -> Response | None:
    """304, if the caller has this version already."""
    if _matches(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers={"ETag": tag})
    return None


def check_match(request: Request, tag: str) -> None:
    """412, if the caller has seen another version."""
    wanted = request.headers.get("if-match")
    if wanted is not None and not _matches(wanted, tag):
        raise _changed()


@asynccontextmanager
async def only_edit(store: Store, row: ScheduleRow, tag: str) -> AsyncIterator[None]:
    """The block is the one that changes this version."""
    key = f"edit:{row.schedule.job}:{tag}"
    if await store.access.claim(key, uuid4().hex, _SECONDS) is not None:
        raise _changed()
    yield
    await store.access.answer(key, "changed")


def _changed() -> Refusal:
    return Refusal(412, "it has been changed meanwhile: get it again, and look whether your change still fits")


def _matches(wanted: str | None, tag: str) -> bool:
    if wanted is None:
        return False
    given = {one.strip().removeprefix("W/") for one in wanted.split(",")}
    return "*" in given or tag in given
