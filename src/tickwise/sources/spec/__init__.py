"""Definitions of jobs as fields with values, whatever they were written in: files, Python or JSON.

The modules in the order in which a definition passes through them: `values`, or the composer of a YAML file, makes
its nodes; `schema` checks each value; `build` checks what depends on several values. `reader` runs these steps.
Nothing here needs YAML, so that a program that declares jobs does not load it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...core.definition import JobDefinition
from ...core.errors import InputError
from ..defaults import NO_DEFAULTS, Defaults
from .nodes import Flaw
from .reader import first_flaws, read_job
from .schema import ACTIONS
from .values import compose_values

_PLACEHOLDER_ACTION = {"python": "a:function"}  # for a job that is a function


def read_spec(spec: Mapping[str, Any], place: str, defaults: Defaults = NO_DEFAULTS) -> JobDefinition:
    """The job that these fields define, which are those of a job file. Times may be datetimes and timedeltas.

    Each line of an error begins with `place`, unless that is empty.
    """
    given = {field: value for field, value in spec.items() if value is not None}
    try:
        root, flaws = compose_values(given)
    except InputError as error:
        raise InputError(f"{place}: {error}" if place else str(error)) from None
    job = read_job(root, flaws, str(spec.get("name", "")) or "job", defaults)
    if job is None:
        shown = list(first_flaws(flaws))
        near = next((flaw.nearest for flaw in shown if flaw.nearest), None)
        text = "\n".join(_describe(flaw, place) for flaw in shown)
        raise InputError(text, field=shown[0].field or None, position=shown[0].position, nearest=near)
    return job


def read_function_spec(spec: Mapping[str, Any], place: str, defaults: Defaults = NO_DEFAULTS) -> JobDefinition:
    """The same for a job that is a function: the fields have no action."""
    if actions := [field for field in ("steps", *ACTIONS) if field in spec]:
        problem = "the function is what this job does: leave it out"
        raise InputError(f"{place}: {actions[0]}: {problem}", field=actions[0])
    return replace(read_spec({**spec, **_PLACEHOLDER_ACTION}, place, defaults), steps=())


def _describe(flaw: Flaw, place: str) -> str:
    return ": ".join(part for part in (place, flaw.field, flaw.problem) if part)
