"""The figures of a run as a table in Markdown: printed, and put into a document if one is named."""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from .faults import EVERY
from .verdict import Verdict

NAMES = {"postgres": "PostgreSQL", "mysql": "MariaDB", "sqlite": "SQLite", "mongodb": "MongoDB", "redis": "Redis"}
_BEGIN, _END = "<!-- chaos: written by make chaos -->", "<!-- chaos: end -->"
_ROWS = {
    "slots": "slots expected",
    "runs": "… with a run",
    "reasons": "… with a reason",
    "lost": "**lost**",
    "doubled": "**doubled**",
    "at_once": "**executed at once** what must not",
    "repeated": "attempts lost and repeated",
    "given_up": "runs marked lost: lost three times, or at most once",
    "windows": "a process that had stood still went on beside its successor",
}


class Outcome(NamedTuple):
    """What was done to a fleet on one store, and what came of it."""

    store: str
    faults: Counter[str]
    recovery: float  # seconds, the longest
    verdict: Verdict


def table(outcomes: Sequence[Outcome], command: str, date: datetime) -> str:
    stores = [NAMES[each.store] for each in outcomes]
    lines = [["fault", *stores], ["---", *["---:"] * len(stores)]]
    lines += [[kind, *(str(each.faults[kind] or "") for each in outcomes)] for kind in EVERY]
    lines += [["**faults in all**", *(f"**{each.faults.total()}**" for each in outcomes)]]
    lines += [[row, *(str(getattr(each.verdict, name)) for each in outcomes)] for name, row in _ROWS.items()]
    lines += [["longest recovery", *(f"{each.recovery:.1f} s" for each in outcomes)]]
    total = sum(each.faults.total() for each in outcomes)
    head = f"`{command}` on {date:%-d %B %Y}: {total:,} faults.\n"
    return "\n".join([head, *("| " + " | ".join(line) + " |" for line in lines)])


def publish(outcomes: Sequence[Outcome]) -> None:
    """Show it, and replace what stands between the marks of the document."""
    shown = table(outcomes, "make chaos", datetime.now(UTC))
    sys.stdout.write(f"\n{shown}\n")
    name = os.environ.get("TICKWISE_TEST_REPORT")
    if name and len(outcomes) == len(NAMES):
        document = Path(name)
        before, _, rest = document.read_text().partition(_BEGIN)
        after = rest.partition(_END)[2]
        document.write_text(f"{before}{_BEGIN}\n{shown}\n{_END}{after}")
