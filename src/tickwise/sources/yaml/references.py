"""References to params in commands: a name that the job does not declare is refused when a file is read (S72)."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...core.definition import Action, Command, Handlers, Precondition, Step
from ...core.errors import did_you_mean, nearest_word
from .error import ErrorList, Loc, printable
from .schema import JobSpec

_PARAM = re.compile(r"\$\{params\.([^}]*)\}")


def check_references(
    spec: JobSpec, steps: Iterable[Step], preconditions: Iterable[Precondition], on: Handlers, errors: ErrorList
) -> None:
    """Report each `${params.NAME}` that names no param of the job."""
    names: Mapping[str, Any] = spec.params or {}
    for loc, action in _actions(spec, steps, preconditions, on):
        for name in _names_in(action):
            if name not in names and not errors.are_many:
                near = nearest_word(name, names)
                problem = f"there is no param {printable(name)}{did_you_mean(near)}: declare it under params"
                errors.add(loc, problem, near)


def _actions(
    spec: JobSpec, steps: Iterable[Step], preconditions: Iterable[Precondition], on: Handlers
) -> Iterator[tuple[Loc, Action]]:
    for i, step in enumerate(steps):
        place: Loc = () if spec.steps is None else ("steps", i)
        yield (*place, "command"), step.action
        yield from _conditions((*place, "preconditions"), step.preconditions)
    yield from _conditions(("preconditions",), preconditions)
    for name in ("success", "failure", "exit"):
        if action := getattr(on, name):
            yield ("on", name), action


def _conditions(place: Loc, preconditions: Iterable[Precondition]) -> Iterator[tuple[Loc, Action]]:
    for i, condition in enumerate(preconditions):
        yield (*place, i, "command"), condition.action


def _names_in(action: Action) -> list[str]:
    """The names that a command refers to; nothing else is filled in."""
    texts = action.arguments if isinstance(action, Command) else ()
    return list(dict.fromkeys(name for text in texts for name in _PARAM.findall(text)))
