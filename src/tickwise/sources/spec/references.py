"""References in commands, variables and headers: wrong places and unknown names are refused when read (S72)."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from ...core.definition import (
    Action,
    Approval,
    Command,
    Handlers,
    HttpCall,
    JobCall,
    Precondition,
    PythonCall,
    Script,
    Step,
)
from ...core.errors import InputError, did_you_mean, nearest_word
from ...core.references import (
    OUTPUT_NAME,
    REFERENCE,
    RUN_FACTS,
    SECRET,
    check_command,
    check_no_secret,
    check_script,
    output_reference,
    texts_in,
)
from .error import ErrorList, Loc, printable
from .schema import JobSpec


class _Place(NamedTuple):
    """Where texts with references stand, and the step that they belong to."""

    loc: Loc
    texts: Iterable[str]
    step: Step | None = None


def check_references(
    spec: JobSpec, steps: Iterable[Step], preconditions: Iterable[Precondition], on: Handlers, errors: ErrorList
) -> None:
    """Report each reference that stands where it may not, or that names nothing that there is."""
    steps = list(steps)
    names = _Names(spec, steps)
    for place in _places(spec, steps, preconditions, on):
        for name in dict.fromkeys(name for text in place.texts for name in REFERENCE.findall(text)):
            if not errors.are_many and (problem := names.problem(name, place.step)):
                errors.add(place.loc, str(problem), problem.nearest)
    for loc, action, _ in _actions(spec, steps, preconditions, on):
        try:
            _check_places(action)
        except InputError as error:
            errors.add(loc, str(error))


class _Names:
    """What references of a job can name."""

    def __init__(self, spec: JobSpec, steps: Sequence[Step]) -> None:
        self._params = [*(spec.params or {}), *(spec.param_types or {})]
        self._steps = {step.name: step for step in steps}
        self._earlier = cache(self._steps_before)

    def problem(self, name: str, step: Step | None) -> InputError | None:
        """What is wrong with a reference in this step, or outside of all; none if it names something."""
        kind, _, word = name.partition(".")
        if name.startswith(SECRET):
            return _check_secret(name.removeprefix(SECRET))
        if kind == "params":
            advice = ": declare it under params"
            return None if word in self._params else _unknown("there is no param", word, self._params, advice)
        if kind == "run":
            return None if word in RUN_FACTS else _unknown("a run has no", word, RUN_FACTS)
        if kind == "item":
            outside = step is None or step.foreach is None
            return InputError(f"${{{name}}} stands only in a step with foreach") if outside else None
        return self._check_output(name, step)

    def _check_output(self, name: str, step: Step | None) -> InputError | None:
        found = output_reference(name)
        if found is None:
            return InputError(f"${{{printable(name)}}} names no output: write ${{steps.NAME.outputs.KEY}}")
        other, key = found
        if not OUTPUT_NAME.fullmatch(key):
            return InputError(f"{printable(key)} cannot be the name of an output: use letters, digits, _ and -")
        if other not in self._steps:
            return _unknown("there is no step", other, self._steps)
        if step is None:
            return InputError(f"only steps know what the step {other} hands on")
        if other not in self._earlier(step.name):
            return InputError(f"the step {step.name} does not wait for {other}: add depends: {other}")
        return None

    def _steps_before(self, name: str) -> frozenset[str]:
        """All steps that end before this one begins."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            for before in self._steps[waiting.pop()].depends:
                if before in self._steps and before not in found:
                    found.add(before)
                    waiting.append(before)
        return frozenset(found)


def _unknown(problem: str, word: str, known: Iterable[str], advice: str = "") -> InputError:
    near = nearest_word(word, list(known))
    return InputError(f"{problem} {printable(word)}{did_you_mean(near)}{advice}", nearest=near)


def _check_secret(name: str) -> InputError | None:
    if OUTPUT_NAME.fullmatch(name):
        return None
    return InputError(f"{printable(name)!r} cannot be the name of a secret: use letters, digits, _ and -")


def _check_places(action: Action) -> None:
    match action:
        case Command():
            check_command(action.arguments)
        case Script():
            check_script(action.text)
        case JobCall():
            for text in texts_in(action.params):
                check_no_secret(text, "the params of a run are stored and shown")


def _places(
    spec: JobSpec, steps: Sequence[Step], preconditions: Iterable[Precondition], on: Handlers
) -> Iterator[_Place]:
    """All texts that are filled in."""
    for loc, action, step in _actions(spec, steps, preconditions, on):
        match action:
            case Command():
                yield _Place(loc, action.arguments, step)
            case HttpCall():
                yield _Place(loc, action.headers.values(), step)
            case JobCall():
                yield _Place(("steps", *loc[1:-1], "params"), list(texts_in(action.params)), step)
    for name, text in (spec.env or {}).items():
        yield _Place(("env", name), (text,))
    for i, step in enumerate(steps):
        for name, text in step.env.items():
            yield _Place(("steps", i, "env", name), (text,), step)
        if step.foreach and step.foreach.reference:
            yield _Place(("steps", i, "foreach"), (f"${{{step.foreach.reference}}}",), step)


def _actions(
    spec: JobSpec, steps: Sequence[Step], preconditions: Iterable[Precondition], on: Handlers
) -> Iterator[tuple[Loc, Action, Step | None]]:
    for i, step in enumerate(steps):
        place: Loc = () if spec.steps is None else ("steps", i)
        yield (*place, _FIELDS[type(step.action)]), step.action, step
        for loc, action in _conditions((*place, "preconditions"), step.preconditions):
            yield loc, action, step
    for loc, action in _conditions(("preconditions",), preconditions):
        yield loc, action, None
    for name in ("success", "failure", "exit"):
        if action := getattr(on, name):
            yield ("on", name), action, None


_FIELDS: dict[type, str] = {
    Command: "command",
    Script: "script",
    PythonCall: "python",
    HttpCall: "http",
    JobCall: "job",
    Approval: "approve",
}


def _conditions(place: Loc, preconditions: Iterable[Precondition]) -> Iterator[tuple[Loc, Action]]:
    for i, condition in enumerate(preconditions):
        yield (*place, i, "command"), condition.action
