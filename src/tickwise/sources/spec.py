"""Definitions given as Python or JSON values instead of a file: the same reader, the same errors."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from ..core.definition import JobDefinition
from ..core.errors import InputError
from ..core.timeparse import format_duration
from .defaults import NO_DEFAULTS, Defaults
from .yaml import DefinitionError, read_text
from .yaml.schema import ACTIONS

_PLACEHOLDER_ACTION = {"python": "a:function"}  # for a job that is a function


def read_spec(spec: Mapping[str, Any], place: str, defaults: Defaults = NO_DEFAULTS) -> JobDefinition:
    """The job that these fields define, which are those of a job file. Times may be datetimes and timedeltas.

    Each line of an error begins with `place`, unless that is empty.
    """
    given = {field: value for field, value in spec.items() if value is not None}
    try:
        text = json.dumps(given, default=_to_json, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"{place}: {error}" if place else str(error)) from None
    located, errors = read_text(text, place, str(spec.get("name", "")) or "job", defaults)
    if errors:
        near = next((error.nearest for error in errors if error.nearest), None)
        text = "\n".join(_without_line(error) for error in errors)
        raise InputError(text, field=errors[0].field or None, position=errors[0].position, nearest=near)
    return located[0].job


def read_function_spec(spec: Mapping[str, Any], place: str, defaults: Defaults = NO_DEFAULTS) -> JobDefinition:
    """The same for a job that is a function: the fields have no action."""
    if actions := [field for field in ("steps", *ACTIONS) if field in spec]:
        problem = "the function is what this job does: leave it out"
        raise InputError(f"{place}: {actions[0]}: {problem}", field=actions[0])
    return replace(read_spec({**spec, **_PLACEHOLDER_ACTION}, place, defaults), steps=())


def _without_line(error: DefinitionError) -> str:
    """Line and column mean nothing where no file was written."""
    return ": ".join(part for part in (error.file, error.field, error.problem) if part)


def _to_json(value: Any) -> Any:
    match value:
        case datetime():
            whole = value.replace(microsecond=0)
            return (whole if whole == value else whole + timedelta(seconds=1)).isoformat()
        case timedelta():
            return format_duration(round(value.total_seconds()))
        case Mapping():
            return dict(value)
    raise TypeError(f"{type(value).__name__} cannot stand in a definition")
