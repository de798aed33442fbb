"""Commands that use the API: all take the options that say where it is, and `--json`.

A command is an async function of the API client and its own arguments. It returns what the API answered and how to
print that for people. So `--json` prints the API's own response, whatever the command.
"""

import asyncio
import inspect
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any, Concatenate, NamedTuple, ParamSpec

import typer

from ..core.errors import InputError
from .client import ApiClient, connect
from .output import AsJson, print_json, print_note
from .sender import ApiTarget

P = ParamSpec("P")
_VARIABLE = "TICKWISE_TOKEN"  # holds a token
Server = Annotated[
    str | None, typer.Option("--server", metavar="URL", help="The server to use, such as http://127.0.0.1:8484.")
]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="@FILE",
        envvar=_VARIABLE,
        help="A file with an API token, or - for stdin. A server elsewhere needs one.",
    ),
]
StoreUrl = Annotated[
    str | None, typer.Option("--store", metavar="URL", help="The store to open; default: as configured.")
]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="Default: tickwise.toml, if there is one.")]


class CommandResult(NamedTuple):
    """What the API answered, how to print it for people, and the exit code."""

    answer: Any
    show: Callable[[], Awaitable[None] | None]
    exit_code: int = 0


def _shared_options(
    *, server: Server = None, token: Token = None, store: StoreUrl = None, config: ConfigFile = None,
    as_json: AsJson = False,
) -> tuple[ApiTarget, bool]:  # fmt: skip
    return ApiTarget(server, token, store, config), as_json


_SHARED_OPTIONS = inspect.signature(_shared_options).parameters


def api_command(
    command: Callable[Concatenate[ApiClient, P], Coroutine[Any, Any, CommandResult | None]],
) -> Callable[..., None]:
    """The command as Typer sees it: with the shared options, and without the client."""

    def run(**given: Any) -> None:
        target, as_json = _shared_options(**{name: given.pop(name) for name in _SHARED_OPTIONS})
        target = target._replace(token=read_token(target.token))
        asyncio.run(_run_command(command, target, given, as_json=as_json))

    own = list(inspect.signature(command).parameters.values())[1:]
    named = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
    signature = inspect.Signature([*named, *_SHARED_OPTIONS.values()])
    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    run.__signature__ = signature  # type: ignore[attr-defined]  # (how a function says what it takes)
    run.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()}
    return run


def read_token(given: str | None) -> str | None:
    """The token in a file or on stdin, else the text itself, with a warning if others can read it."""
    if given is None:
        return None
    if given == "-":
        return sys.stdin.readline().strip()
    if given.startswith("@"):
        try:
            return Path(given[1:]).read_text("ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"the token in {given[1:]} cannot be read: {error}") from None
    if given != os.environ.get(_VARIABLE):
        print_note(f"Other users can see --token TEXT: use {_VARIABLE}, --token @FILE or --token - (stdin)")
    return given


async def _run_command(
    command: Callable[..., Any], target: ApiTarget, given: dict[str, Any], *, as_json: bool
) -> None:
    async with connect(target, as_json=as_json) as api:
        result: CommandResult | None = await command(api, **given)
        if result is None:
            return
        if as_json:
            print_json(result.answer)
        elif (shown := result.show()) is not None:
            await shown
    if result.exit_code:
        raise typer.Exit(result.exit_code)
