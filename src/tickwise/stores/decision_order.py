"""Recorded decisions: the order in which people see them, and which a filter means."""

from .records import DecisionFilter, DecisionRow


def decision_place(row: DecisionRow) -> tuple[int, str, str]:
    """Newest slots first; a decision keeps its place when it is extended."""
    return -row.first, row.schedule, row.reason.code


def decision_matches(row: DecisionRow, wanted: DecisionFilter) -> bool:
    return (
        wanted.schedule in (None, row.schedule)
        and (not wanted.reasons or row.reason in wanted.reasons)
        and (wanted.slot is None or row.first <= wanted.slot <= row.last)
        and (wanted.since is None or row.last >= wanted.since)
        and (wanted.until is None or row.first < wanted.until)
    )
