"""Reads the nodes of one definition: each value by itself, then what depends on several of them."""

from collections.abc import Iterator

from ...core.codec import unfit_part
from ...core.definition import JobDefinition
from ..defaults import Defaults
from .build import build
from .error import MAX_ERRORS, ErrorList, Loc
from .nodes import Flaw, FlawList, ValueNode
from .schema import JobSpec


def read_job(
    root: ValueNode | None, flaws: list[Flaw], default_name: str | None, defaults: Defaults
) -> JobDefinition | None:
    """The job that the nodes define; None if there were flaws before, or are now.

    Fields without a default name must have a name.
    """
    if root is None:
        return None
    if not isinstance(root.value, dict):
        flaws.append(Flaw((), "a job file holds fields such as 'schedule:' and 'command:'", root.at))
        return None
    problem = "is empty: give it a value, or remove it"
    flaws += [Flaw(loc, problem, root.key_at(loc)) for loc in _empty_fields(root)]
    found = FlawList(flaws)
    given = JobSpec.read_fields(root, (), found)
    flaws += found.found
    broken = frozenset(str(flaw.loc[0]) for flaw in flaws if flaw.loc)
    spec = JobSpec({name: value for name, value in given.items() if name not in broken})
    errors = ErrorList()
    job = build(_with_defaults(spec, defaults), default_name, defaults, broken, errors)
    flaws += [root.find(loc).flaw(loc, error) for loc, error in errors.found]
    if job is not None and not flaws:
        flaws += _check_encodable(job, root)
    return None if flaws else job


def first_flaws(flaws: list[Flaw]) -> Iterator[Flaw]:
    """The flaws in the order of lines; only the first of very many."""
    ordered = sorted(flaws, key=lambda flaw: flaw.at)
    yield from ordered[:MAX_ERRORS]
    if len(ordered) > MAX_ERRORS:
        problem = f"and {len(ordered) - MAX_ERRORS} more errors in this document"
        yield Flaw((), problem, ordered[MAX_ERRORS].at)


def _check_encodable(job: JobDefinition, root: ValueNode) -> Iterator[Flaw]:
    """A flaw if no store could keep the job, at the value that is the cause."""
    if unfit := unfit_part(job):
        loc = tuple(unfit.path.lstrip(".").split(".")) if unfit.path else ()
        yield Flaw(loc, unfit.problem if loc else f"it {unfit.problem}", root.find(loc).at)


def _with_defaults(spec: JobSpec, defaults: Defaults) -> JobSpec:
    return JobSpec({"timezone": defaults.timezone, "grace": defaults.grace, **spec.given})


def _empty_fields(root: ValueNode) -> Iterator[Loc]:
    """Fields without a value. In params, `null` is a value."""
    return (loc for loc, node in root.walk() if node.value is None and (len(loc) == 1 or loc[:1] != ("params",)))
