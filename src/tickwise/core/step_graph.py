"""What follows a step in the graph of a job."""

from collections.abc import Sequence

from .definition import Step
from .errors import InputError, did_you_mean, nearest_word


def steps_from(steps: Sequence[Step], name: str) -> frozenset[str]:
    """A step and all that depend on it, directly or not. Raises InputError if there is no such step."""
    if name not in {step.name for step in steps}:
        near = nearest_word(name, [step.name for step in steps])
        raise InputError(
            f"the run has no step {name[:100]!r}{did_you_mean(near)}", field="from_step", nearest=near
        )
    found = {name}
    while following := {step.name for step in steps if found & {*step.depends}} - found:
        found |= following
    return frozenset(found)
