"""What a pass tells of a schedule. Equal verdicts in a row are one record with a count and a range (S7).

Whoever keeps a decision keeps it under its identity, so telling a record again with a later end makes it longer.
The schedule carries those that can grow: the newest on how slots ended, the newest on slots that wait, and the
newest note of each reason. A verdict extends the one of its class

- if it has the same reason and, unless it is about waiting, the very next slot; and
- if it falls into the hour (UTC) in which the record begins, whatever the detail, of which the newest is kept; or
  if the record is told in the same pass and has the same detail.

So a schedule that is always skipped adds a record an hour, and a record that spans hours was decided at once. A
start closes them all: what comes after it begins a new one.
"""

from collections.abc import Collection

from .model import Decision, Schedule
from .reasons import Reason, Verdict
from .slots import slot_times

_HOUR = 3_600


class Journal:
    """The decisions of one schedule in one pass."""

    __slots__ = ("_schedule", "_told", "open")

    def __init__(self, schedule: Schedule) -> None:
        self.open = schedule.records
        self._schedule = schedule
        self._told: dict[tuple[str, Reason, int], Decision] = {}

    @property
    def decisions(self) -> Collection[Decision]:
        return self._told.values()

    def tell(self, decision: Decision) -> None:
        """Keep a verdict, alone or as a part of the record that it continues."""
        known = next((record for record in self.open if _kind(record) is _kind(decision)), None)
        if known and self._continues(known, decision):
            decision = decision._replace(first=known.first, count=known.count + decision.count)
        self.open = (*(record for record in self.open if record is not known), decision)
        self._told[decision.identity] = decision

    def close(self) -> None:
        """What comes from here on is in a row with nothing told before."""
        self.open = ()

    def _continues(self, known: Decision, new: Decision) -> bool:
        if known.reason is not new.reason:
            return False
        if not new.waits and slot_times(self._schedule).after(known.last) != new.first:
            return False
        told_now = known.identity in self._told
        return known.first // _HOUR == new.first // _HOUR or (told_now and known.detail == new.detail)


def _kind(decision: Decision) -> Verdict | Reason | None:
    """What tells the records apart that can grow side by side."""
    if decision.is_final:
        return None
    return decision.reason if decision.reason.verdict is Verdict.NOTED else Verdict.DEFERRED
