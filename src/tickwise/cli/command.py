"""Commands that ask the API: all take the options that say where it is, and `--json`.

A command is an async function of the API and its own arguments. It returns what the API answered and how people
are shown that: so `--json` prints the API's own answer whatever the command.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any, Concatenate, NamedTuple, ParamSpec

import typer

from .client import ApiClient, ApiTarget, reached
from .output import AsJson, print_json

P = ParamSpec("P")
Server = Annotated[
    str | None, typer.Option("--server", metavar="URL", help="Ask a server, such as http://127.0.0.1:8484.")
]
Token = Annotated[
    str | None,
    typer.Option("--token", envvar="TICKWISE_TOKEN", help="Who asks; default: the admin of this machine."),
]
StoreUrl = Annotated[
    str | None, typer.Option("--store", metavar="URL", help="Open a store; default: as configured.")
]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="Default: tickwise.toml, if there is one.")]


class CommandResult(NamedTuple):
    """What the API answered, how people are shown it, and how the command ends."""

    answer: Any
    show: Callable[[], Awaitable[None] | None]
    exit_code: int = 0


def _shared(
    *, server: Server = None, token: Token = None, store: StoreUrl = None, config: ConfigFile = None,
    as_json: AsJson = False,
) -> tuple[ApiTarget, bool]:  # fmt: skip
    return ApiTarget(server, token, store, config), as_json


_SHARED = inspect.signature(_shared).parameters


def api_command(
    command: Callable[Concatenate[ApiClient, P], Coroutine[Any, Any, CommandResult | None]],
) -> Callable[..., None]:
    """The command as Typer sees it: with the shared options, and without the API."""

    def run(**given: Any) -> None:
        place, as_json = _shared(**{name: given.pop(name) for name in _SHARED})
        asyncio.run(_told(command, place, given, as_json=as_json))

    own = list(inspect.signature(command).parameters.values())[1:]
    named = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
    signature = inspect.Signature([*named, *_SHARED.values()])
    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    run.__signature__ = signature  # type: ignore[attr-defined]  # (how a function says what it takes)
    run.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()}
    return run


async def _told(command: Callable[..., Any], place: ApiTarget, given: dict[str, Any], *, as_json: bool) -> None:
    async with reached(place, as_json=as_json) as api:
        told: CommandResult | None = await command(api, **given)
        if told is None:
            return
        if as_json:
            print_json(told.answer)
        elif (shown := told.show()) is not None:
            await shown
    if told.exit_code:
        raise typer.Exit(told.exit_code)
