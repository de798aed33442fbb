"""`tickwise schedules adopt`: whether the store or the nodes find the slots of schedules."""

from typing import Annotated, Any

import typer

from ...core.definition import Ticking
from ...core.errors import InputError
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import print_line, print_table
from ..sender import ApiRefusal


@api_command
async def adopt(
    api: ApiClient,
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME...", help="Schedules to move.")] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="All that are on the other side.")] = False,
    back: Annotated[bool, typer.Option("--back", help="From the store back to the nodes' own index.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would move.")] = False,
) -> CommandResult:
    """Let the store find slots that nodes tick locally. Each slot still runs once."""
    if every == bool(names):
        raise InputError("name the schedules to move, or say --all")
    to = Ticking.LOCAL if back else Ticking.STORE
    answer = await api.post("/schedules:adopt", names=names or None, ticking=str(to), dry_run=dry_run)
    return CommandResult(answer, lambda: _print_moves(answer, api.where))


def _print_moves(answer: dict[str, Any], where: str) -> None:
    """What was moved; then the first that could not be, as an error."""
    moves = [(one["name"], one["was"], one["now"]) for one in answer["items"] if one["problem"] is None]
    problems = [one["problem"] for one in answer["items"] if one["problem"] is not None]
    if moves:
        print_table(["schedule", "was", "would be" if answer["dry_run"] else "is"], moves)
    elif not problems:
        print_line("Nothing is to be moved.")
    if problems:
        raise ApiRefusal(problems[0]["status"], problems[0], where)
