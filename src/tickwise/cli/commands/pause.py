"""`tickwise pause` and `tickwise resume`: all schedules at once."""

from ..arguments import as_when
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import format_time, print_line
from .queues import Until
from .schedule_actions import Reason


@api_command
async def pause(api: ApiClient, reason: Reason = "", until: Until = None) -> CommandResult:
    """Pause all schedules until `tickwise resume`. Queued runs go on."""
    end = None if until is None else as_when(until, "UTC")
    answer = await api.put("/pause", reason=reason, until=end)
    ends = answer["paused"] and answer["paused"]["resumes_at"]
    so_long = f" until {format_time(ends, 'UTC')}" if ends else ""
    return CommandResult(
        answer, lambda: print_line(f"All schedules are paused{so_long}. To resume: tickwise resume")
    )


@api_command
async def resume(api: ApiClient) -> CommandResult:
    """Resume after `tickwise pause`."""
    answer = await api.delete("/pause")
    return CommandResult(answer, lambda: print_line("Resumed."))
