"""`tickwise pause` and `tickwise resume`: everything at once."""

from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import print_line
from .schedule_actions import Reason


@api_command
async def pause(api: ApiClient, reason: Reason = "") -> CommandResult:
    """Pause everything: no slot of any schedule is decided until `tickwise resume`."""
    answer = await api.put("/pause", reason=reason)
    return CommandResult(answer, lambda: print_line("Everything is paused: tickwise resume"))


@api_command
async def resume(api: ApiClient) -> CommandResult:
    """Go on after a pause of everything."""
    answer = await api.delete("/pause")
    return CommandResult(answer, lambda: print_line("Nothing holds everything back any longer."))
