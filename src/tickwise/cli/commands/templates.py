"""`tickwise templates`: schedules that a definition can use by name."""

from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import print_table


@api_command
async def templates(api: ApiClient) -> CommandResult:
    """List templates: schedules that a job uses by name. Write `schedule: {template: NAME}`."""
    answer = await api.get("/templates")
    rows = [(one["name"], one["expression"], one["description"]) for one in answer["items"]]
    return CommandResult(answer, lambda: print_table(["template", "expression", "what it means"], rows))
