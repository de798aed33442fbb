"""`tickwise pause` and `tickwise resume`: all schedules at once."""

from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import print_line
from .schedule_actions import Reason


@api_command
async def pause(api: ApiClient, reason: Reason = "") -> CommandResult:
    """Pause all schedules until `tickwise resume`. Queued runs go on."""
    answer = await api.put("/pause", reason=reason)
    return CommandResult(answer, lambda: print_line("All schedules are paused. To resume: tickwise resume"))


@api_command
async def resume(api: ApiClient) -> CommandResult:
    """Resume after `tickwise pause`."""
    answer = await api.delete("/pause")
    return CommandResult(answer, lambda: print_line("Resumed."))
