"""Which steps are repeated with a step."""

import pytest

from tickwise.core.definition import Command, Step
from tickwise.core.errors import InputError
from tickwise.core.step_graph import steps_from

GRAPH = {
    "fetch": (),
    "clean": ("fetch",),
    "load": ("clean",),
    "count": ("clean",),
    "tell": ("load", "count"),
    "own": (),
}
STEPS = [Step(name, Command(("true",)), depends) for name, depends in GRAPH.items()]


@pytest.mark.parametrize(
    ("name", "repeated"),
    [("tell", "tell"), ("load", "load tell"), ("clean", "clean load count tell"), ("own", "own"),
     ("fetch", "fetch clean load count tell")],
)  # fmt: skip
def test_a_step_and_all_that_depend_on_it(name: str, repeated: str) -> None:
    """Directly or not; not what comes before it, nor beside it."""
    assert steps_from(STEPS, name) == {*repeated.split()}


@pytest.mark.parametrize("name", ["laod", "", "Load", "load ", "x" * 10_000])
def test_a_step_that_does_not_exist(name: str) -> None:
    """It is refused, with the nearest that does; so is any step of a job that has none."""
    with pytest.raises(InputError, match="no step") as wrong:
        steps_from(STEPS, name)
    assert wrong.value.field == "from_step"
    assert len(str(wrong.value)) < 300
    with pytest.raises(InputError):
        steps_from([], name)
