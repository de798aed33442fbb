"""`tickwise doctor`: what is wrong, and how to repair it."""

from typing import Annotated, Any

import typer
from rich.text import Text

from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import in_colour, print_line

_FAILURES = {"error", "warning"}


@api_command
async def doctor(
    api: ApiClient,
    *,
    audit: Annotated[
        bool, typer.Option("--audit", help="Also match every slot in the store with its run or its reason.")
    ] = False,
) -> CommandResult:
    """Check for problems and say how to repair them. Exits with 1 if there is an error or a warning."""
    answer = await api.get("/doctor", audit=audit or None)
    failed = any(finding["severity"] in _FAILURES for finding in answer["findings"])
    return CommandResult(answer, lambda: _print_findings(answer, api.where), exit_code=1 if failed else 0)


def _print_findings(answer: dict[str, Any], where: str) -> None:
    for finding in answer["findings"]:
        print_line(in_colour(finding["severity"]) + Text(f": {finding['what']} ({finding['code']})", ""))
        print_line(f"  → {finding['repair']}")
    if audit := answer["audit"]:
        print_line("{schedules} schedules, {slots} slots: {runs} runs, {reasons} reasons.".format(**audit))
    if not answer["findings"]:
        print_line(f"No problems found in {where}.", "green")
