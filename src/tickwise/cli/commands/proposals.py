"""`tickwise proposals`: what agents ask for, and what a person decides."""

from typing import Annotated, Any

import typer

from ...core.errors import InputError
from ..arguments import is_id
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import format_time, in_colour, print_fields, print_line, print_nothing, print_table
from .schedule_actions import Reason

app = typer.Typer(help="Proposals of agents: list, approve and reject them.", no_args_is_help=True)
ProposalId = Annotated[str, typer.Argument(metavar="ID", help="The id of a proposal.")]


@app.command("list")
@api_command
async def list_proposals(
    api: ApiClient,
    *,
    all_states: Annotated[bool, typer.Option("--all", help="Decided and expired ones too.")] = False,
) -> CommandResult:
    """List what waits for a decision, with what it would do."""
    answer = await api.get("/proposals")
    items = [one for one in answer["items"] if all_states or one["state"] == "open"]
    return CommandResult({"items": items}, lambda: _print_proposals(items, api.where))


def _print_proposals(items: list[dict[str, Any]], where: str) -> None:
    if not items:
        print_nothing("No proposals wait for a decision.", where)
        return
    rows = [
        (
            one["id"],
            in_colour(one["state"]),
            one["by"],
            one["effect"]["text"],
            one["reason"],
            format_time(one["expires_at"]),
        )
        for one in items
    ]
    print_table(["id", "state", "by", "would", "reason", "expires"], rows, optional=["reason", "expires"])


@app.command("show")
@api_command
async def show_proposal(api: ApiClient, proposal: ProposalId) -> CommandResult:
    """Show one proposal: what it would do, and how it stands."""
    one = await api.get(_path(proposal))
    return CommandResult(one, lambda: _print_proposal(one))


def _print_proposal(one: dict[str, Any]) -> None:
    effect = one["effect"]
    arguments = ", ".join(f"{name}: {value}" for name, value in one["arguments"].items())
    print_fields(
        [
            ("id", one["id"]), ("state", in_colour(one["state"])), ("asks to", f"{one['act']} {one['target']}"),
            ("with", arguments), ("by", one["by"]), ("reason", one["reason"]), ("effect", effect["text"]),
            ("would run", _format_starts(effect["appear"])), ("would not", _format_starts(effect["vanish"])),
            ("depends on", ", ".join(effect["facts"])), ("expires", format_time(one["expires_at"])),
            ("decided by", one["decided_by"] or ""), ("note", one["note"]),
        ]
    )  # fmt: skip
    if one["state"] == "open":
        print_line(f"To do it: tickwise proposals approve {one['id']}", "dim")


def _format_starts(starts: list[str]) -> str:
    shown = ", ".join(format_time(start) for start in starts[:5])
    return f"{shown} and {len(starts) - 5:,} more" if len(starts) > 5 else shown


@app.command("approve")
@api_command
async def approve_proposal(
    api: ApiClient,
    proposal: ProposalId,
    *,
    anyway: Annotated[bool, typer.Option("--anyway", help="Although its effect is another by now.")] = False,
) -> CommandResult:
    """Do what a proposal asks for, with your own role."""
    one = await api.post(f"{_path(proposal)}:approve", anyway=anyway)
    return CommandResult(one, lambda: print_line(f"Done: {one['act']} {one['target']}, as {one['by']} proposed."))


@app.command("reject")
@api_command
async def reject_proposal(api: ApiClient, proposal: ProposalId, reason: Reason = "") -> CommandResult:
    """Decide that a proposal is not done."""
    one = await api.post(f"{_path(proposal)}:reject", reason=reason)
    return CommandResult(one, lambda: print_line(f"Rejected: {one['act']} {one['target']}. Nothing was done."))


def _path(proposal: str) -> str:
    if not is_id(proposal):
        raise InputError(f"{proposal[:60]!r} is no id of a proposal: see tickwise proposals list")
    return f"/proposals/{proposal}"
