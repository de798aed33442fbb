"""`tickwise doctor`: what is not as it should be, and how to mend it."""

from typing import Any

from rich.text import Text

from .asking import Told, asks
from .client import Api
from .output import in_colour, print_line

_GRAVE = {"error", "warning"}


@asks
async def doctor(api: Api) -> Told:
    """Look for what is wrong; exits with 1 if anything needs to be mended."""
    answer = await api.get("/doctor")
    findings = answer["findings"]
    grave = any(finding["severity"] in _GRAVE for finding in findings)
    return Told(answer, lambda: _show(findings), exit_code=1 if grave else 0)


def _show(findings: list[dict[str, Any]]) -> None:
    for finding in findings:
        print_line(in_colour(finding["severity"]) + Text(f": {finding['what']} ({finding['code']})", ""))
        print_line(f"  → {finding['repair']}")
    if not findings:
        print_line("All is well.", "green")
