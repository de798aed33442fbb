"""`tickwise schedules adopt`: who finds the slots of a schedule."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import typer

from ...app import AsyncTickwise
from ...app.explain import schedule_row
from ...core.change import Adopted
from ...core.definition import Ticking
from ...core.errors import InputError
from ...core.model import Schedule
from ...runtime.forecast import all_schedules
from ...stores.contract import Store
from ..command import ConfigFile, StoreUrl
from ..output import AsJson, print_json, print_line, print_table


class _Move(NamedTuple):
    """Who finds a schedule's slots."""

    schedule: str
    was: Ticking
    now: Ticking


def adopt(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME...", help="Schedules to move.")] = None,
    store: StoreUrl = None,
    config: ConfigFile = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="All that are on the other side.")] = False,
    back: Annotated[bool, typer.Option("--back", help="From the store back to the nodes' own index.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would move.")] = False,
    as_json: AsJson = False,
) -> None:
    """Have the store find the slots of schedules that nodes tick locally; each slot still runs once."""
    if every == bool(names):
        raise InputError("name the schedules to move, or say --all")
    tickwise = AsyncTickwise(store, config=config)
    moves = asyncio.run(_adopt(tickwise, names or [], back=back, dry_run=dry_run))
    if as_json:
        print_json({"dry_run": dry_run, "moves": [move._asdict() for move in moves]})
    elif not moves:
        print_line("Nothing is to be moved.")
    else:
        print_table(["schedule", "was", "would be" if dry_run else "is"], moves)


async def _adopt(tickwise: AsyncTickwise, names: Sequence[str], *, back: bool, dry_run: bool) -> list[_Move]:
    to = Ticking.LOCAL if back else Ticking.STORE
    async with tickwise:
        store = await tickwise.store()
        chosen = await _chosen(store, names, tickwise.settings.ticking, back=back)
        if not dry_run:
            for schedule in chosen:
                await store.change(schedule.name, Adopted(to))
        return [_Move(each.name, _ticking(each, tickwise.settings.ticking), to) for each in chosen]


async def _chosen(store: Store, names: Sequence[str], of_nodes: Ticking, *, back: bool) -> list[Schedule]:
    """Those that are named; or all that are ticked locally, or were adopted before."""
    if names:
        return [(await schedule_row(store, name)).schedule for name in dict.fromkeys(names)]
    found = await all_schedules(store.insights)
    if back:
        return [schedule for schedule in found if schedule.ticking is Ticking.STORE]
    return [schedule for schedule in found if _ticking(schedule, of_nodes) is Ticking.LOCAL]


def _ticking(schedule: Schedule, of_nodes: Ticking) -> Ticking:
    return schedule.ticking or schedule.definition.policy.ticking or of_nodes
