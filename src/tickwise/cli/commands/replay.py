"""`tickwise replay`: how the past of a schedule would have gone with another definition."""

from collections.abc import Iterator
from itertools import groupby
from typing import Annotated, Any

import typer

from ...core.timeparse import format_duration
from ..arguments import as_past, parse_params, schedule_path
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..completion import Name
from ..output import format_time, print_line, print_table

_WIDTH = 72
_MARKS = {"ran": "█", "waiting": "?", "skipped": "x", "none": " "}
_LATE = "▓"
_RANK = {mark: rank for rank, mark in enumerate([" ", _MARKS["ran"], _LATE, _MARKS["waiting"], _MARKS["skipped"]])}
_MAX_LISTED = 40


@api_command
async def replay(
    api: ApiClient,
    name: Name,
    start: Annotated[
        str, typer.Option("--from", metavar="TIME", help="Slots from here; in its zone, or 30d ago.")
    ],
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Slots before this; default: now.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--with", metavar="FIELD=VALUE", help="A field of the job file: overlap=queue. May be repeated."
        ),
    ] = None,
) -> CommandResult:
    """Plan the past again with other fields, and compare it with what happened. Nothing is changed."""
    path = schedule_path(name)
    zone = (await api.get(path))["timezone"]
    fields = parse_params(changes, "field", "overlap=queue")
    times = {"start": as_past(start, zone), "end": as_past(end, zone)}
    told = await api.post(f"{path}/replay", **times, changes=fields)
    return CommandResult(told, lambda: _print_replay(told, zone))


def _print_replay(told: dict[str, Any], zone: str) -> None:
    changes = ", ".join(f"{name}: {value}" for name, value in told["changes"].items()) or "nothing changed"
    print_line(f"{told['schedule']}, {changes}: {_format_sum(told)}", "bold")
    span = f"{format_time(told['start'], zone)} to {format_time(told['end'], zone)}"
    print_line(f"{len(told['slots']):,} slots from {span}", "dim")
    print_line("")
    for line in _ribbons(told):
        print_line(line)
    rows = list(_differences(told["slots"], zone))
    if rows:
        print_line("")
        print_table(["slots", "", "schedule", "was", "would be"], rows[:_MAX_LISTED])
        if len(rows) > _MAX_LISTED:
            print_line(f"… and {len(rows) - _MAX_LISTED:,} more: --json has all", "dim")
    for note in told["notes"]:
        print_line(note, "dim")


def _format_sum(told: dict[str, Any]) -> str:
    was, would = told["was"], told["would"]
    parts = [
        f"{was[state]:,} {state} → {would[state]:,}"
        for state in ("ran", "skipped", "waiting")
        if was[state] or would[state]
    ]
    waits = [format_duration(each["longest_wait"]) if each["longest_wait"] else "none" for each in (was, would)]
    parts.append(f"longest wait {waits[0]} → {waits[1]}")
    more = would["most_at_once"] - was["most_at_once"]
    if more:
        parts.append(
            f"at most {abs(more)} run{'s' if abs(more) > 1 else ''} {'more' if more > 0 else 'fewer'} at once"
        )
    return ", ".join(parts)


def _ribbons(told: dict[str, Any]) -> Iterator[str]:
    """Two lines for each schedule: what happened, and what would have. The worst of several slots shows."""
    slots = told["slots"]
    for name in sorted({one["schedule"] for one in slots}):
        own = [one for one in slots if one["schedule"] == name]
        for side, label in (("was", "was"), ("would", "would be")):
            cells = [" "] * min(_WIDTH, len(own))
            for place, one in enumerate(own):
                cell, mark = place * len(cells) // len(own), _mark(one[side])
                cells[cell] = max(cells[cell], mark, key=_RANK.__getitem__)
            yield f"{name if side == 'was' else '':<{len(name)}}  {label:<8} |{''.join(cells)}|"
    yield "█ on time  ▓ more than a minute late  x no run  ? waiting"


def _mark(fate: dict[str, Any]) -> str:
    return _LATE if fate["state"] == "ran" and fate["late"] > 60 else _MARKS[fate["state"]]


def _differences(slots: list[dict[str, Any]], zone: str) -> Iterator[tuple[str, str, str, str, str]]:
    """One line for slots in a row that differ in the same way."""
    by_schedule = sorted(slots, key=lambda one: (one["schedule"], one["slot"]))
    for (name, was, would), group in groupby(
        by_schedule, key=lambda one: (one["schedule"], _words(one["was"]), _words(one["would"]))
    ):
        rows = list(group)
        if was != would:
            more = f"to {format_time(rows[-1]['slot'], zone)}, {len(rows):,} slots" if len(rows) > 1 else ""
            yield format_time(rows[0]["slot"], zone), more, name, was, would


def _words(fate: dict[str, Any]) -> str:
    if fate["state"] == "ran":
        return f"ran {format_duration(fate['late'])} late" if fate["late"] > 1 else "ran"
    reason = f": {fate['reason'].replace('_', ' ')}" if fate["reason"] else ""
    return f"{'no slot' if fate['state'] == 'none' else fate['state']}{reason}"
