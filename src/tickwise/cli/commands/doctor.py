"""`tickwise doctor`: what is not as it should be, and how to mend it."""

from typing import Annotated, Any

import typer
from rich.text import Text

from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import in_colour, print_line

_GRAVE = {"error", "warning"}


@api_command
async def doctor(
    api: ApiClient,
    *,
    audit: Annotated[
        bool, typer.Option("--audit", help="Also match every slot in the store with its run or its reason.")
    ] = False,
) -> CommandResult:
    """Look for what is wrong; exits with 1 if anything needs to be mended."""
    answer = await api.get("/doctor", audit=audit or None)
    grave = any(finding["severity"] in _GRAVE for finding in answer["findings"])
    return CommandResult(answer, lambda: _show(answer), exit_code=1 if grave else 0)


def _show(answer: dict[str, Any]) -> None:
    for finding in answer["findings"]:
        print_line(in_colour(finding["severity"]) + Text(f": {finding['what']} ({finding['code']})", ""))
        print_line(f"  → {finding['repair']}")
    if audit := answer["audit"]:
        print_line("{schedules} schedules, {slots} slots: {runs} runs, {reasons} reasons.".format(**audit))
    if not answer["findings"]:
        print_line("All is well.", "green")
