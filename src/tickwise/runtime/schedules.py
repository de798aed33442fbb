"""The schedules of a store."""

from ..core.model import Schedule
from ..stores.insights_contract import Insights
from ..stores.pages import all_pages
from ..stores.records import ScheduleFilter

_PAGE_SIZE = 1_000


async def all_schedules(insights: Insights, *, local: bool = False) -> list[Schedule]:
    """Every schedule, page by page; or only those that no claim finds."""
    wanted = ScheduleFilter(local=local)
    rows = await all_pages(lambda after: insights.schedules(wanted, after, _PAGE_SIZE))
    return [row.schedule for row in rows if not row.unreadable]
