"""References in commands and variables: wrong places and unknown names are refused when they are read (S72)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...core.definition import Action, Command, Handlers, Precondition, Script, Step
from ...core.errors import InputError, did_you_mean, nearest_word
from ...core.references import REFERENCE, RUN_FACTS, check_command, check_script
from .error import ErrorList, Loc, printable
from .schema import JobSpec


def check_references(
    spec: JobSpec, steps: Iterable[Step], preconditions: Iterable[Precondition], on: Handlers, errors: ErrorList
) -> None:
    """Report each reference that stands where it may not, or that names no param of the job."""
    steps = list(steps)
    params: Mapping[str, Any] = spec.params or {}
    known = [*(f"params.{name}" for name in params), *(f"run.{name}" for name in RUN_FACTS)]
    for loc, texts in _texts(spec, steps, preconditions, on):
        for name in dict.fromkeys(name for text in texts for name in REFERENCE.findall(text)):
            if name not in known and not errors.are_many:
                _report_unknown(loc, name, known, errors)
    for loc, action in _actions(spec, steps, preconditions, on):
        try:
            _check_places(action)
        except InputError as error:
            errors.add(loc, str(error))


def _report_unknown(loc: Loc, name: str, known: Iterable[str], errors: ErrorList) -> None:
    kind, _, word = name.partition(".")
    near = nearest_word(word, [one.partition(".")[2] for one in known if one.startswith(f"{kind}.")])
    what = f"there is no param {printable(word)}" if kind == "params" else f"a run has no {printable(word)}"
    advice = ": declare it under params" if kind == "params" else ""
    errors.add(loc, f"{what}{did_you_mean(near)}{advice}", near)


def _check_places(action: Action) -> None:
    match action:
        case Command():
            check_command(action.arguments)
        case Script():
            check_script(action.text)


def _texts(
    spec: JobSpec, steps: Iterable[Step], preconditions: Iterable[Precondition], on: Handlers
) -> Iterator[tuple[Loc, Iterable[str]]]:
    """All texts that are filled in."""
    for loc, action in _actions(spec, steps, preconditions, on):
        yield loc, action.arguments if isinstance(action, Command) else ()
    for name, text in (spec.env or {}).items():
        yield ("env", name), (text,)
    for i, step in enumerate(spec.steps or ()):
        for name, text in (step.env or {}).items():
            yield ("steps", i, "env", name), (text,)


def _actions(
    spec: JobSpec, steps: Iterable[Step], preconditions: Iterable[Precondition], on: Handlers
) -> Iterator[tuple[Loc, Action]]:
    for i, step in enumerate(steps):
        place: Loc = () if spec.steps is None else ("steps", i)
        yield (*place, "script" if isinstance(step.action, Script) else "command"), step.action
        yield from _conditions((*place, "preconditions"), step.preconditions)
    yield from _conditions(("preconditions",), preconditions)
    for name in ("success", "failure", "exit"):
        if action := getattr(on, name):
            yield ("on", name), action


def _conditions(place: Loc, preconditions: Iterable[Precondition]) -> Iterator[tuple[Loc, Action]]:
    for i, condition in enumerate(preconditions):
        yield (*place, i, "command"), condition.action
