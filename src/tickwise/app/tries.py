"""One run of a job file that is not saved.

A run belongs to a stored job. So what is tried is stored beside the real job, as NAME.try: a job of the API
without a schedule. The next try replaces it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..core.definition import JobDefinition, check_name
from ..core.errors import ConflictError
from ..sources.defaults import Defaults
from ..sources.spec import read_spec
from ..stores.contract import Store
from .definitions import API_SOURCE

_SUFFIX = ".try"


def name_of_try(name: str) -> str:
    """Where a try of a job is stored; refused if that is too long for a name."""
    return check_name(name + _SUFFIX, "the name of a try: shorten the job's name")


async def store_try(store: Store, fields: Mapping[str, Any], defaults: Defaults) -> JobDefinition:
    """Store what is to be tried; refused if another source has a job of that name."""
    job = read_spec(fields, "", defaults)
    what = replace(job, name=name_of_try(job.name), schedules=(), enabled=True, description=f"A try of {job.name}")
    known = await store.insights.job(what.name)
    if known is not None and known.source != API_SOURCE:
        raise ConflictError(f"{what.name} is a job of {known.source}, so {job.name} cannot be tried: rename it")
    await store.define(what, API_SOURCE, over=known.version if known else 0)
    return what
