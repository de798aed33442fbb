"""The jobs that steps have become go with the job that they belong to (S74)."""

from typing import TYPE_CHECKING

from ..core.definition import step_job_name
from ..core.step_jobs import source_of_steps

if TYPE_CHECKING:
    from .contract import Store

_PAGE = 100  # rows


async def remove_step_jobs(store: "Store", job: str) -> None:
    """Remove what its steps have become, which is found by its name and its source. Most jobs have nothing."""
    prefix, source = step_job_name(job, ""), source_of_steps(job)
    after: str | None = prefix
    while after is not None:
        page = await store.insights.jobs(after, _PAGE)
        names = [row.definition.name for row in page.items if row.source == source]
        for name in names:
            await store.remove(name, source)
        last = page.items[-1].definition.name if page.items else ""
        after = page.after if last.startswith(prefix) else None
