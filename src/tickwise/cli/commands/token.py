"""`tickwise token`: who may come in."""

from typing import Annotated, Any

import typer

from ...api.server_address import link_address
from ...core.errors import InputError, did_you_mean, nearest_word
from ..arguments import as_when
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import format_time, in_colour, print_line, print_note, print_nothing, print_table
from ..prompts import Yes, confirm

app = typer.Typer(help="API tokens and their roles.", no_args_is_help=True)


@app.command("create")
@api_command
async def create(
    api: ApiClient,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who will use it.")],
    role: Annotated[str, typer.Option(help="viewer, operator or admin.")] = "viewer",
    scope: Annotated[
        list[str] | None, typer.Option(help="Only jobs named like etl-*; viewer:* gives a lower role. Repeatable.")
    ] = None,
    expires: Annotated[str | None, typer.Option(help="A time in UTC, or 30d from now.")] = None,
) -> CommandResult:
    """Create a token; it is printed only once, alone on its line."""
    until = None if expires is None else as_when(expires, "UTC")
    made = await api.post("/tokens", name=name, role=role, scopes=scope or [], expires=until)
    return CommandResult(made, lambda: _print_token(made))


def _print_token(made: dict[str, Any]) -> None:
    print_line(made["secret"], "bold")
    print_note(f"This token has the role {made['role']}. Save it now: it cannot be shown again.")


@app.command("link")
@api_command
async def link(
    api: ApiClient, role: Annotated[str, typer.Option(help="viewer, operator or admin.")] = "admin"
) -> CommandResult:
    """Print a link that signs one browser in, once, within ten minutes."""
    made = await api.post("/links", role=role)
    return CommandResult(made, lambda: _print_link(api.dashboard, made))


def _print_link(dashboard: str, made: dict[str, Any]) -> None:
    print_line(link_address(dashboard, made["code"]), "bold")
    print_note(f"It signs one browser in as {made['role']}, once, until {format_time(made['expires_at'])}.")


@app.command("list")
@api_command
async def list_tokens(api: ApiClient) -> CommandResult:
    """List all tokens, revoked ones too, without their secrets."""
    answer = await api.get("/tokens")
    rows = [
        (
            one["name"], one["role"], ", ".join(one["scopes"]) or "all jobs", in_colour(_token_state(one)),
            format_time(one["expires_at"]) or "never", format_time(one["used_at"]) or "never", one["id"],
        )
        for one in answer["items"]
    ]  # fmt: skip
    if not rows:
        return CommandResult(answer, lambda: print_nothing("No tokens.", api.where))
    columns = ["name", "role", "jobs", "state", "expires", "last used", "id"]
    return CommandResult(answer, lambda: print_table(columns, rows))


def _token_state(one: dict[str, Any]) -> str:
    return "revoked" if one["revoked_at"] else "valid"


@app.command("revoke")
@api_command
async def revoke(
    api: ApiClient,
    which: Annotated[str, typer.Argument(metavar="NAME|ID", help="A token.")],
    *,
    yes: Annotated[bool, Yes] = False,
) -> CommandResult:
    """Revoke a token: the API no longer accepts it."""
    one = _find_token(which, (await api.get("/tokens"))["items"])
    await confirm(f"Revoke the token {one['name']} ({one['role']})?", yes=yes)
    revoked = await api.delete(f"/tokens/{one['id']}")
    return CommandResult(revoked, lambda: print_line(f"The token {one['name']} is revoked."))


def _find_token(which: str, known: list[dict[str, Any]]) -> dict[str, Any]:
    """The token with this id; or with this name, if it is valid."""
    fits = [one for one in known if one["id"] == which or (one["name"] == which and not one["revoked_at"])]
    if not fits:
        hint = did_you_mean(nearest_word(which, [one["name"] for one in known if not one["revoked_at"]]))
        raise InputError(f"there is no valid token {which!r}{hint}: see tickwise token list")
    return fits[0]
