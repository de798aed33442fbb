"""The params that a run of a job may be given, for a form: names, types and defaults."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..core.definition import JobDefinition
from ..core.mask import masked

_TYPES: dict[type, str] = {
    bool: "boolean", int: "integer", float: "number", str: "string", dict: "object", list: "array", tuple: "array",
}  # fmt: skip
_ANY = "any"


@dataclass(frozen=True, slots=True)
class RunParam:
    """One param. Its type is as the definition declares it, else that of its default."""

    name: str
    type: str  # as JSON calls it, or `date`; `any` if it is not known
    default: Any
    required: bool
    secret: bool  # the default is not shown, and need not be given again


def run_params(job: JobDefinition) -> Iterator[RunParam]:
    """Those that are known: first those of the function, in its order, then others."""
    known = job.known_parameters
    required = known.required if known else ()
    for name in dict.fromkeys([*(known.names if known else ()), *job.params]):
        given = {name: job.params[name]} if name in job.params else {}
        shown = masked(given)
        kind = str(job.param_types.get(name, _type_of(given.get(name))))
        yield RunParam(
            name, kind, shown[name] if shown == given and given else None,
            required=name in required and not given, secret=shown != given,
        )  # fmt: skip


def _type_of(value: Any) -> str:
    return next((name for kind, name in _TYPES.items() if isinstance(value, kind)), _ANY)
