"""The jobs that the steps of a job have become (S74)."""

from ..core.definition import step_job_name
from ..core.step_jobs import source_of_steps
from .insights_contract import Insights

_PAGE = 100  # rows


async def step_jobs_of(insights: Insights, job: str) -> list[str]:
    """Their names, found by name and source. Most jobs have none, which takes one page to know."""
    prefix, source = step_job_name(job, ""), source_of_steps(job)
    found: list[str] = []
    after: str | None = prefix
    while after is not None:
        page = await insights.jobs(after, _PAGE)
        found += (row.definition.name for row in page.items if row.source == source)
        last = page.items[-1].definition.name if page.items else ""
        after = page.after if last.startswith(prefix) else None
    return found
