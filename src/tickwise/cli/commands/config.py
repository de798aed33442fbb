"""`tickwise config show`: each setting, and where it comes from."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ...config import ABOUT, NAMES, Secret, load
from ...core.definition import Keep
from ...runtime.notifications.routes import NotificationRoute
from ...sign_on_settings import OidcSettings, TrustedHeader
from ...sources.templates import Template
from ...stores.url import hidden
from ..output import AsJson, print_json, print_table

app = typer.Typer(help="Settings, and where they come from.", no_args_is_help=True)
_SECRETS = re.compile(r"([?&][^=&#]*(?:password|passfile|secret|token|key)[^=&#]*=)[^&#]*", re.IGNORECASE)


@app.callback()
def _config() -> None:
    """Settings, and where they come from."""


@app.command("show")
def show(
    config: Annotated[
        Path | None, typer.Option("--config", help="Default: tickwise.toml, if there is one.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show every setting, its value and its origin. Passwords are left out."""
    settings = load(file=config)
    values = {name: _printable(name, getattr(settings, name)) for name in NAMES}
    if as_json:
        print_json(
            {
                name: {"value": value, "origin": settings.origins[name], "about": ABOUT[name]}
                for name, value in values.items()
            }
        )
        return
    rows = [(name, _format_value(value), settings.origins[name], ABOUT[name]) for name, value in values.items()]
    print_table(["setting", "value", "from", "what it is"], rows)


def _printable(name: str, value: Any) -> Any:
    match value:
        case Secret():
            return str(value)
        case frozenset():
            return sorted(value)
        case Keep():
            limits = {"days": value.days, "runs": value.runs}
            return ", ".join(f"{name}={limit}" for name, limit in limits.items() if limit) or "forever"
        case OidcSettings() | TrustedHeader():
            return str(value)
        case Mapping():
            return {name: _describe(one) for name, one in value.items()}
    return _SECRETS.sub(r"\1…", hidden(value)) if name == "store" else value


def _describe(entry: Any) -> str:
    """An entry of a table, without what may be secret in it."""
    match entry:
        case Template():
            return entry.expression
        case NotificationRoute():
            return str(entry)
        case str():  # where a secret is found
            return f"{entry.partition(':')[0]}:…"
    return str(getattr(entry, "kind", type(entry).__name__))


def _format_value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}"
        case tuple() | list():
            return ", ".join(value)
        case dict():
            return ", ".join(f"{name} = {text}" for name, text in value.items())
        case None:
            return ""
    return str(value)
